/** Five times as many requests as the installation can serve: how many it serves, and how soon it refuses the rest. */
import type { Bench, ResultRow } from "../bench.ts";
import { median, percentile } from "../measure/rounds.ts";
import type { Script } from "../script.ts";

const factor = 5;
const peakConnections = 64;
/** Number of connections: more than wait at any time, provided that refusals come at once. */
const connections = 2_000;
const leastShare = 0.8;
const shedLimitMs = 100;

export const overloadScript: Script = { kind: "json" };

export async function measureOverload(bench: Bench): Promise<readonly ResultRow[]> {
  const { load, installation, pace } = bench;
  const { target } = installation;
  const windows: number[] = [];
  for (let round = 0; round < 3; round++) {
    const { units, durationMs } = await load.call("window", {
      target,
      script: overloadScript,
      connections: peakConnections,
      spreadMs: 0,
      rampMs: round === 0 ? pace.warmUpMs : 200,
      windowMs: pace.windowMs,
      watched: [],
      root: process.pid,
    });
    windows.push((units * 1_000) / durationMs);
  }
  const peak = median(windows);
  const forMs = 4 * pace.windowMs;
  const perSecond = factor * peak;
  const offered = await load.call("offer", {
    target,
    script: overloadScript,
    perSecond,
    connections,
    forMs,
    settleMs: 2_000,
  });
  for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
  const share = (offered.servedMs.length * 1_000) / forMs / peak;
  const p99 = percentile(offered.shedMs, 99);
  const common = { pipe: "", ratio: "" } as const;
  return [
    {
      ...common,
      measure: `overload: requests served of ${factor} times as many as the installation can (${Math.round(peak)} a second), for ${forMs / 1_000} s`,
      installation: `${Math.round(share * 100)} % of its peak, ${offered.shedMs.length} refused, ${offered.away} found no connection`,
      gate: `>= ${leastShare * 100} %`,
      verdict: share >= leastShare ? "pass" : "MISS",
    },
    {
      ...common,
      measure: "overload: until a refused client hears of it, p50 / p99",
      installation: `${percentile(offered.shedMs, 50).toFixed(0)} / ${p99.toFixed(0)} ms`,
      gate: `p99 <= ${shedLimitMs} ms`,
      verdict: p99 <= shedLimitMs ? "pass" : "MISS",
    },
  ];
}
