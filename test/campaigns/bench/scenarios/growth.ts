/** Cost of an event and of a stream as the number of streams grows, and whether many can be opened at once. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, ResultRow } from "../bench.ts";
import { type InstallationMemory, kibText, memoryOfStream, sum } from "../measure/memory.ts";
import { percentile } from "../measure/rounds.ts";
import { SubjectWindows } from "../measure/subject-windows.ts";
import type { Script } from "../script.ts";

const sizes = [200, 1_000, 5_000];
/** A stream of one event per second, which outlasts the measurement. */
export const growthScript: Script = { kind: "paced", deltas: 10_000, gapMs: 1_000 };
/** Streams opened per second: few enough for the gateway, which refuses load beyond its capacity. */
const openedPerSecond = 200;
const windowMs = 8_000;
/** Maximum memory of a stream at the largest number of streams, relative to the number before it. */
const linear = 1.2;
const settleMs = 2_000;
/** Milliseconds in which each stream has an event. */
const memoryWindowMs = 2_000;

const openings = { perSecond: 1_000, forMs: 4_000 };

interface Cost {
  readonly us: number;
  /** Number of refused attempts to open a stream. */
  readonly refused: number;
}

/** Memory is measured last: V8 drops compiled code when all garbage is collected, after which events of few streams take twice as long. */
export async function measureGrowth(bench: Bench): Promise<readonly ResultRow[]> {
  const costs = await each((streams) => measureCost(bench, streams));
  const opening = await measureOpening(bench);
  await delay(settleMs);
  const memory = await each((streams) => measureMemory(bench, streams));
  return [costFinding(costs), memoryFinding(memory), opening];
}

/** Measures each number of streams; all streams are ended before the next. */
async function each<Result>(measure: (streams: number) => Promise<Result>): Promise<readonly Result[]> {
  const found: Result[] = [];
  for (const streams of sizes) {
    found.push(await measure(streams));
    await delay(settleMs);
  }
  return found;
}

function windowsOf(bench: Bench, streams: number): SubjectWindows {
  const spreadMs = (streams * 1_000) / openedPerSecond;
  return new SubjectWindows(bench, { script: growthScript, connections: streams, spreadMs });
}

async function measureCost(bench: Bench, streams: number): Promise<Cost> {
  const windows = windowsOf(bench, streams);
  const { us, units } = await windows.of(bench.installation, windowMs);
  for (const [problem, count] of windows.problems) bench.say(`  ${count} x ${problem}`);
  bench.say(`  ${streams} streams: ${us.toFixed(1)} us per event, ${units} events`);
  return { us, refused: sum([...windows.problems.values()]) };
}

/** @returns memory of a stream in each process, in KiB */
async function measureMemory(bench: Bench, streams: number): Promise<InstallationMemory> {
  const { installation } = bench;
  const before = await installation.readMemory();
  let open = before;
  await windowsOf(bench, streams).of(
    installation,
    memoryWindowMs,
    async () => (open = await installation.readMemory()),
  );
  const memory = memoryOfStream(before, open, streams);
  bench.say(`  ${streams} streams: ${kibText(memory.inUse)} in use, ${kibText(memory.resident)} resident`);
  return memory;
}

const inOrder = (values: readonly number[]): string => values.map((value) => value.toFixed(1)).join(" / ");

function costFinding(costs: readonly Cost[]): ResultRow {
  const us = costs.map((cost) => cost.us);
  const isFalling = us.every((value, index) => value <= (us[index - 1] ?? value));
  return {
    measure: `growth: ${sizes.join(" / ")} streams x 1 event / s, processor time per event`,
    installation: `${inOrder(us)} us, ${costs.map(({ refused }) => refused).join(" / ")} times refused while they opened`,
    pipe: "",
    ratio: "",
    gate: "falling",
    verdict: isFalling ? "pass" : "MISS",
  };
}

function memoryFinding(memory: readonly InstallationMemory[]): ResultRow {
  const inUse = memory.map((streams) => sum(streams.inUse));
  const resident = memory.map((streams) => sum(streams.resident));
  const [, middle = Number.NaN, last = Number.NaN] = inUse;
  return {
    measure: `growth: memory of a stream, ${sizes.join(" / ")} open, garbage collected`,
    installation: `${inOrder(inUse)} KiB in use, ${inOrder(resident)} KiB resident`,
    pipe: "",
    ratio: "",
    gate: `in use: the last <= ${linear} x the one before`,
    verdict: last <= linear * middle ? "pass" : "MISS",
  };
}

async function measureOpening(bench: Bench): Promise<ResultRow> {
  const { perSecond, forMs } = openings;
  const connections = (perSecond * forMs) / 1_000;
  const offered = await bench.load.call("offer", {
    target: bench.installation.target,
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
    installation: `${offered.sent} opened, ${refused} refused, ${offered.firstMs.length} with their first event (p50 / p99 ${p50} / ${p99} ms)`,
    pipe: "",
    ratio: "",
    gate: "0 refused",
    verdict: refused === 0 ? "pass" : "MISS",
  };
}
