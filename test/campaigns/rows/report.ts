/** The table of a run of rows. */
import { type RowResult, complaintsOf, expectedOf } from "./campaign.ts";
import { type RowOutcome, isWorseVerdict, rowVerdicts } from "./row.ts";

const maxAnswerLength = 300;

export const tableLine = ({ row, verdict, outcomes }: RowResult): string =>
  `| ${row.name} | ${verdict} | ${row.final === undefined ? "" : `for good: ${row.final}; `}${answersOf(outcomes)} |`;

/** Describes the answers of a row. Equal ones are listed once, and working ones as a single word. */
function answersOf(outcomes: readonly RowOutcome[]): string {
  const names = new Map<string, string[]>();
  for (const { on, verdict, says } of outcomes) {
    const answer = verdict === "works" && /^200\b/.test(says) ? "works" : says;
    names.set(answer, [...(names.get(answer) ?? []), on]);
  }
  const all = [...names].map(([answer, on]) => `${[...new Set(on)].join(", ")}: ${answer}`).join(" · ");
  const line = all.replaceAll("|", String.raw`\|`).replaceAll("\n", " ");
  return line.length > maxAnswerLength ? `${line.slice(0, maxAnswerLength)}…` : line;
}

export function totalLines(results: readonly RowResult[]): string[] {
  const count = (verdict: string) => results.filter((result) => result.verdict === verdict).length;
  const final = results.filter(({ row }) => row.final !== undefined).length;
  const better = results.filter(({ row, verdict }) => isWorseVerdict(expectedOf(row), verdict));
  return [
    ...better.map(({ row, verdict }) => `better than written: ${row.name}: ${verdict}, not ${expectedOf(row)}`),
    ...complaintsOf(results).map(
      ({ row, verdict, outcomes }) =>
        `complaint: ${row.name}: ${verdict}, not ${expectedOf(row)}: ${answersOf(outcomes)}`,
    ),
    `${results.length} rows: ${rowVerdicts.map((verdict) => `${count(verdict)} ${verdict}`).join(", ")}; ${final} refused for good in part or whole`,
  ];
}
