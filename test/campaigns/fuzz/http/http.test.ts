/** A few hundred random responses, read by Sluice's client and by undici. More of them: npm run fuzz -- http --count 100000. */
import { expect, test } from "@jest/globals";
import { fixedSeed } from "../../../support/runner/fixed-seed.ts";
import { httpCampaign } from "./campaign.ts";

test("HTTP responses of providers are read as undici reads them, or refused for a documented reason", async () => {
  const report = await httpCampaign({ seed: fixedSeed, count: 750, seconds: Number.POSITIVE_INFINITY });
  const { exchanges, ended, failed, reused } = report;
  process.stdout.write(
    `http: seed ${fixedSeed}, ${exchanges} exchanges, ${ended} with an end, ${reused} on a used connection\n`,
  );
  expect(report.complaints).toEqual([]);
  expect(ended).toBeGreaterThan(exchanges / 4);
  expect(failed).toBeGreaterThan(exchanges / 10);
  expect(reused).toBeGreaterThan(exchanges / 20);
}, 900_000);
