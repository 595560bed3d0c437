/** npm run rows -- [WORDS]: runs the rows of the contract, or those with these words in their name, and prints a table of the answers. */
import { complaintsOf, runRows } from "./campaign.ts";
import { tableLine, totalLines } from "./report.ts";
import { rowsOfContract } from "./table/all.ts";

const words = process.argv.slice(2).join(" ");
const rows = rowsOfContract.filter(({ name }) => name.includes(words));
if (rows.length === 0) {
  console.error(`no row has "${words}" in its name\nusage: npm run rows -- [WORDS]`);
  process.exit(2);
}
console.log("| row | verdict now | what it answers |\n|---|---|---|");
const results = await runRows(rows, { embeddedPostgres: true, progress: (result) => console.log(tableLine(result)) });
console.log("");
for (const line of totalLines(results)) console.log(line);
if (complaintsOf(results).length > 0) process.exitCode = 1;
