/** Twenty seconds of random patterns over texts in pieces. A million runs: npm run fuzz -- patterns. */
import { expect, test } from "@jest/globals";
import { patternCampaign, patternLine } from "./campaign.ts";

test("what streams is what the whole text gives, and nothing that is found goes out", () => {
  const seed = Date.now() % 1_000_000_000;
  const report = patternCampaign({ seed, count: Number.POSITIVE_INFINITY, seconds: 20 });
  process.stdout.write(`${patternLine(report)}\n`);
  expect(report.complaints).toEqual([]);
  // Texts in which nothing is found show nothing.
  expect(report.matches).toBeGreaterThan(report.runs / 2);
  // Most of what is held back can still become a match.
  expect(report.held / report.pieces).toBeLessThan(2);
}, 120_000);
