/** Cost of an event and of a stream as streams become more, and whether many may be opened at once. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, Finding } from "../bench.ts";
import { residentBytes } from "../measure/machine.ts";
import { percentile } from "../measure/rounds.ts";
import { SubjectWindows } from "../measure/subject-windows.ts";
import type { Script } from "../script.ts";

const sizes = [200, 1_000, 5_000];
/** An event a second, and no end while they are measured. */
export const growthScript: Script = { kind: "paced", deltas: 10_000, gapMs: 1_000 };
/** Slow enough for the door, which refuses what it cannot serve. */
const openedPerSecond = 200;
const windowMs = 8_000;
/** So much resident memory may a stream take at the largest size, of what it takes at the one before. */
const linear = 1.2;
const settleMs = 2_000;

const openings = { perSecond: 1_000, forMs: 4_000 };

interface Size {
  readonly streams: number;
  readonly us: number;
  readonly kibEach: number;
  /** Times that a stream was refused while they were opened. */
  readonly refused: number;
}

export async function measureGrowth(bench: Bench): Promise<readonly Finding[]> {
  const { house } = bench;
  const resident = () => house.pids.reduce((sum, pid) => sum + residentBytes(pid), 0);
  const found: Size[] = [];
  for (const streams of sizes) {
    const spreadMs = (streams * 1_000) / openedPerSecond;
    const windows = new SubjectWindows(bench, { script: growthScript, connections: streams, spreadMs });
    const before = resident();
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, resident())), 200);
    const { us, units } = await windows.of(house, windowMs);
    clearInterval(watch);
    const refused = [...windows.problems.values()].reduce((sum, count) => sum + count, 0);
    for (const [problem, count] of windows.problems) bench.say(`  ${count} x ${problem}`);
    bench.say(`  ${streams} streams: ${us.toFixed(1)} us per event, ${units} events`);
    found.push({ streams, us, kibEach: (peak - before) / 1_024 / streams, refused });
    await delay(settleMs);
  }
  return [...sizeFindings(found), await measureOpening(bench)];
}

function sizeFindings(found: readonly Size[]): Finding[] {
  const common = { pipe: "", ratio: "" };
  const falling = found.every(({ us }, index) => us <= (found[index - 1]?.us ?? us));
  const [, middle, last] = found;
  const steady = (last?.kibEach ?? 0) <= linear * (middle?.kibEach ?? 0);
  const names = found.map(({ streams }) => streams).join(" / ");
  return [
    {
      ...common,
      measure: `growth: ${names} streams x 1 event / s, processor time per event`,
      house: `${found.map(({ us }) => us.toFixed(1)).join(" / ")} us, ${found.map(({ refused }) => refused).join(" / ")} times refused while they opened`,
      gate: "falling",
      verdict: falling ? "pass" : "MISS",
    },
    {
      ...common,
      measure: "growth: resident memory added per stream, garbage included",
      house: `${found.map(({ kibEach }) => kibEach.toFixed(1)).join(" / ")} KiB`,
      gate: `linear: the last <= ${linear} x the one before`,
      verdict: steady ? "pass" : "MISS",
    },
  ];
}

async function measureOpening(bench: Bench): Promise<Finding> {
  const { perSecond, forMs } = openings;
  const connections = (perSecond * forMs) / 1_000;
  const offered = await bench.load.call("offer", {
    target: bench.house.target,
    script: growthScript,
    ...openings,
    connections,
    settleMs: 0,
  });
  for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
  const refused = offered.shedMs.length;
  const [p50, p99] = [50, 99].map((percent) => percentile(offered.firstMs, percent).toFixed(0));
  return {
    measure: `growth: ${perSecond} streams opened a second, for ${forMs / 1_000} s, which stay open`,
    house: `${offered.sent} opened, ${refused} refused, ${offered.firstMs.length} with their first event (p50 / p99 ${p50} / ${p99} ms)`,
    pipe: "",
    ratio: "",
    gate: "0 refused",
    verdict: refused === 0 ? "pass" : "MISS",
  };
}
