/** Every row of the contract against a whole installation: none may contradict the specification, or be worse than the table. */
import { expect, test } from "@jest/globals";
import { complaintsOf, runRows } from "./campaign.ts";
import { tableLine, totalLines } from "./report.ts";
import { rowsOfContract } from "./table/all.ts";

test("every row of the contract table has a name of its own", () => {
  const names = rowsOfContract.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("no row of the contract table contradicts the specification, or is worse than its recorded verdict", async () => {
  const started = performance.now();
  const results = await runRows(rowsOfContract);
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  process.stdout.write(`rows: ${totalLines(results).at(-1)} (${seconds} s)\n`);
  expect(complaintsOf(results).map(tableLine)).toEqual([]);
}, 600_000);
