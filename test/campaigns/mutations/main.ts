/** npm run mutations: whether the tests of the dialects notice each planted fault. Fails if one goes unnoticed. */
import { readNumbersOrExit } from "../../support/runner/campaign-options.ts";
import { limitAfter, runDialects } from "./campaign.ts";
import { plantedFaults } from "./faults.ts";

const { first, count } = readNumbersOrExit("mutations", {
  first: { default: 1, min: 1, max: plantedFaults.length },
  count: { default: plantedFaults.length, min: 1, max: plantedFaults.length },
});

const began = performance.now();
const secondsSince = (ms: number) => Math.round((performance.now() - ms) / 1_000);

const sound = await runDialects();
if (sound.failing.length > 0) throw new Error(`tests fail without a fault: ${sound.failing.join(", ")}`);
const limitMs = limitAfter(sound);
console.log(`without a fault: passed in ${secondsSince(began)} s; limit of a test: ${Math.round(limitMs / 1_000)} s`);

const chosen = plantedFaults.slice(first - 1, first - 1 + count);
let found = 0;
for (const [at, fault] of chosen.entries()) {
  const begun = performance.now();
  const { failing, isOnlyByTime } = await runDialects(limitMs, fault);
  if (failing.length > 0) found++;
  const how = `found by ${failing.join(", ")}${isOnlyByTime ? ", only by its limit of time" : ""}`;
  console.log(`${first + at}. ${fault.effect}: ${failing.length > 0 ? how : "NOT FOUND"} (${secondsSince(begun)} s)`);
}
console.log(`${found} of ${chosen.length} found`);
process.exit(found === chosen.length ? 0 : 1);
