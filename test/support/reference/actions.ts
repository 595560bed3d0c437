/** The table of guardrail actions, generated from the words and their traits. */
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";

export function actionTable(): string {
  const rows = filterActions.rows.map(
    ({ word, does, done }) => `| \`${word}\` | ${does} | \`${done}\` | \`guardrail_${word}\` |`,
  );
  return ["", "| action | effect on a match | in receipts | event of alerts |", "|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
}
