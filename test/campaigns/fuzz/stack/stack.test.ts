/** A thousand random requests through the masked and the full stack. More of them: npm run fuzz -- stack --count 100000. */
import { expect, test } from "@jest/globals";
import { features } from "@sluice/inference-svc/stack.js";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { stackCampaign } from "./campaign.ts";

test("layers that do not apply to a request do not change its result", async () => {
  const report = await stackCampaign({ seed: fixedSeed, count: 1_000 });
  process.stdout.write(`stack: seed ${fixedSeed}, ${report.masks} combinations, ${report.answered} answered\n`);
  expect(report.complaints).toEqual([]);
  expect(report.requests).toBe(1_000);
  expect(report.answered).toBeGreaterThan(report.requests / 4);
  expect(report.masks).toBeGreaterThan(200);
  expect(features.map(({ id }) => id).filter((id) => !report.applied.has(id))).toEqual([]);
}, 900_000);
