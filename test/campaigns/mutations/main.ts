/** npm run mutations: whether the tests of the dialects find each planted fault. Fails when one goes unnoticed. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { findFailingSuites } from "./campaign.ts";
import { plantedFaults } from "./faults.ts";

const { first, count } = readNumbersOrExit("mutations", {
  first: { default: 1, min: 1, max: plantedFaults.length },
  count: { default: plantedFaults.length, min: 1, max: plantedFaults.length },
});

const began = performance.now();
const failing = await findFailingSuites();
if (failing.length > 0) throw new Error(`tests fail without a fault: ${failing.join(", ")}`);
console.log(`without a fault: passed in ${Math.round((performance.now() - began) / 1_000)} s`);

const chosen = plantedFaults.slice(first - 1, first - 1 + count);
let found = 0;
for (const [at, fault] of chosen.entries()) {
  const suites = await findFailingSuites(fault);
  if (suites.length > 0) found++;
  console.log(`${first + at}. ${fault.effect}: ${suites.length > 0 ? `found by ${suites.join(", ")}` : "NOT FOUND"}`);
}
console.log(`${found} of ${chosen.length} found`);
process.exit(found === chosen.length ? 0 : 1);
