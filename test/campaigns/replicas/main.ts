/**
 * npm run replicas -- [--faults N] [--seed S] [--rounds N] [--older CHECKOUT]: causes faults in a cluster of several replicas, and reports whether
 * anything was lost.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { programIn } from "../../support/processes.ts";
import { parseNumber, readOrExit } from "../../support/runner/campaign-options.ts";
import { runReplicasCampaign } from "./campaign.ts";

/** Target time in milliseconds for a change of policy to take effect. */
const policyGoalMs = 250;

const given = readOrExit(() => {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { faults: text, seed: text, rounds: text, older: text } });
  const most = 1_000_000_000;
  return {
    /** Number of faults; a thousand take about half an hour. */
    faults: parseNumber("faults", { default: 200, min: 1, max: 1_000_000 }, values.faults),
    seed: parseNumber("seed", { default: Date.now() % most, min: 0, max: most }, values.seed),
    /** Number of timed policy changes before the first fault. */
    rounds: parseNumber("rounds", { default: 100, min: 1, max: 10_000 }, values.rounds),
    older: values.older === undefined ? undefined : findBuild(values.older),
  };
}, "usage: npm run replicas -- [--faults N] [--seed N] [--rounds N] [--older CHECKOUT]");

/** @throws if the folder is not a built checkout */
function findBuild(folder: string): string {
  const checkout = resolve(folder);
  if (existsSync(programIn(checkout, "gateway"))) return checkout;
  throw new Error(`--older: ${checkout} is not built: build it with npm run build`);
}

const began = performance.now();
const report = await runReplicasCampaign({ ...given, progress: (line) => console.log(line) });
const { findings, faults, answered, calls, acknowledged, policyMs, afterChange, servedLate, limited } = report;
for (const [name, complaints] of Object.entries(findings)) {
  console.log(`${complaints.length} ${name}`);
  for (const complaint of complaints.slice(0, 10)) console.log(`  ${complaint}`);
}
console.log(
  `seed ${given.seed}: ${faults} faults in ${Math.round((performance.now() - began) / 1_000)} s, ${answered} turns answered, ` +
    `${calls} calls at the provider, ${acknowledged} changes acknowledged, policy in force after p99 ${Math.round(policyMs)} ms ` +
    `(goal ${policyGoalMs}), ${servedLate} of ${afterChange} requests served on an earlier policy while a process was cut off`,
);
console.log(
  limited === undefined
    ? "Redis took no part: this machine has no redis-server"
    : `${limited} requests admitted under limits in Redis`,
);
const isWrong = Object.values(findings).some((complaints) => complaints.length > 0);
if (isWrong || policyMs > policyGoalMs) process.exitCode = 1;
