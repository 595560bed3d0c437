/** Some faults in a cluster of several replicas. More of them: npm run replicas. */
import { expect, test } from "@jest/globals";
import { runReplicasCampaign } from "./campaign.ts";

const faults = 12;
/** Seed with which the first twelve faults are of every kind. */
const seed = 156;
/** Deadline for a hanging test; npm run replicas holds the actual goal. */
const policyLimitMs = 60_000;

test(`after ${faults} faults in a cluster, no acknowledged change or record is lost, doubled or wrong`, async () => {
  const report = await runReplicasCampaign({ seed, faults, rounds: 1 });
  const { answered, calls, acknowledged, policyMs, limited = "no Redis here, so no" } = report;
  process.stdout.write(
    `replicas: ${report.faults} faults, ${answered} turns answered, ${calls} calls, ${acknowledged} changes, policy after ${Math.round(policyMs)} ms, ${limited} requests under shared limits\n`,
  );
  expect(Object.entries(report.findings).filter(([, complaints]) => complaints.length > 0)).toEqual([]);
  expect(report.faults).toBeGreaterThanOrEqual(faults);
  expect(policyMs).toBeLessThan(policyLimitMs);
}, 600_000);
