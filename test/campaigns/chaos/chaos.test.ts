/** Some kills of processes under load. More of them: npm run chaos. */
import { expect, test } from "@jest/globals";
import { fixedSeed } from "../../support/runner/fixed-seed.ts";
import { runChaosCampaign } from "./campaign.ts";

test.each([
  { replicas: 2, kills: 6 },
  // Gateway and inference-svc as one process.
  { replicas: 0, kills: 3 },
])(
  "after %o no acknowledged change is lost, no bulk is half applied, and every call is recorded once",
  async ({ replicas, kills }) => {
    const seed = fixedSeed;
    const report = await runChaosCampaign({ seed, kills, replicas });
    const { answered, acknowledged, calls } = report;
    process.stdout.write(
      `chaos: seed ${seed}, ${replicas} replicas, ${kills} kills, ${answered} turns answered, ${acknowledged} writes acknowledged, ${calls} calls\n`,
    );
    expect(report.complaints).toEqual([]);
    expect(report.kills).toBe(kills);
  },
  900_000,
);
