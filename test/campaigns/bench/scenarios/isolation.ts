/** Whether cancelling some streams harms others. */
import type { Bench, ResultRow } from "../bench.ts";
import type { StormResult } from "../client/storm.ts";
import { type Script, endlessDeltas } from "../script.ts";

const innocent = 100;
const cancels = 3_000;
const atOnce = 100;
const gapMs = 50;

export const stormScript: Script = { kind: "paced", deltas: endlessDeltas, gapMs };

export async function measureIsolation(bench: Bench): Promise<ResultRow> {
  const { load, installation } = bench;
  const result = await load.call("storm", { target: installation.target, innocent, gapMs, cancels, atOnce });
  for (const [problem, count] of result.problems) bench.say(`  ${count} x ${problem}`);
  return {
    measure: `isolation: ${innocent} streams beside ${cancels} that are opened and cancelled, ${atOnce} at a time`,
    installation: shown(result),
    pipe: "",
    ratio: "",
    gate: "0 killed, every new stream opens",
    verdict: result.killed + result.starved + failedOpens(result) === 0 ? "pass" : "FAIL",
  };
}

function failedOpens({ problems, killed }: StormResult): number {
  let failures = 0;
  for (const count of problems.values()) failures += count;
  return failures - killed;
}

function shown(result: StormResult): string {
  return `${result.killed} killed, ${result.starved} starved, ${failedOpens(result)} could not be opened`;
}
