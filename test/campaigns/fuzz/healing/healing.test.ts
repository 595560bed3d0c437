/** Damaged JSON objects are repaired to their original. More of them: npm run fuzz -- healing. */
import { expect, test } from "@jest/globals";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { healingCampaign, healingLines } from "./campaign.ts";

test("damaged JSON objects are healed to the original or given up", () => {
  const report = healingCampaign(fixedSeed, 300);
  process.stdout.write(`${healingLines(report).at(-1)}\n`);
  expect(report.complaints).toEqual([]);
  for (const [name, { spoiled, healed, wrong }] of report.tallies) {
    expect([name, spoiled > 0]).toEqual([name, true]);
    // Two kinds of damage at once may hide the original.
    if (name === "two of them") expect(healed / spoiled).toBeGreaterThan(0.8);
    else expect([name, healed / spoiled > 0.98, wrong / spoiled < 0.02]).toEqual([name, true, true]);
  }
}, 300_000);
