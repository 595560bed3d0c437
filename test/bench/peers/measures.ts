/** What is measured of each gateway: a row of the table for each, in the order in which they run. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../bench.ts";
import type { StalledStream } from "../client/stalled.ts";
import { ownBytes } from "../measure/machine.ts";
import { percentile } from "../measure/rounds.ts";
import type { SubjectLoad } from "../measure/subject-windows.ts";
import { cancelDelays, cancelText } from "../scenarios/cancel.ts";
import { costScenarios, findProblem, measureRounds, medianCost } from "../scenarios/cost.ts";
import { firstEventScript } from "../scenarios/first-event.ts";
import type { Script } from "../script.ts";
import type { LoadSubject } from "../subject.ts";

/** A figure of one subject; less is better. Without a value it takes no part in the comparison. */
export interface Cell {
  readonly text: string;
  readonly value?: number;
}

export interface PeerRow {
  readonly measure: string;
  readonly cells: ReadonlyMap<LoadSubject, Cell>;
  /** Rounds were disturbed, so that the figures decide nothing. */
  readonly inconclusive?: boolean;
}

/** One after the other, so that none is measured while another works. A failure is a figure like any other. */
async function eachCell(
  subjects: readonly LoadSubject[],
  measure: (subject: LoadSubject) => Promise<Cell>,
): Promise<Map<LoadSubject, Cell>> {
  const cells = new Map<LoadSubject, Cell>();
  for (const subject of subjects) {
    const cell = await measure(subject).catch((error: Error) => ({
      text: `failed: ${error.message.split("\n", 1)[0]}`,
    }));
    cells.set(subject, cell);
  }
  return cells;
}

/** As many streams as one core of every gateway serves without falling behind. */
export const pacedLoad: SubjectLoad = {
  script: { kind: "paced", deltas: 150, gapMs: 20 },
  connections: 20,
  spreadMs: 1_000,
};

const costs = [
  { measure: "processor time of a request, 1 KB, 32 at a time", load: costScenarios.U },
  { measure: "the same, 20 KB", load: costScenarios.U20 },
  { measure: "processor time of an event, 20 streams of one event every 20 ms", load: pacedLoad },
] as const;

async function measureCosts(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  const rows: PeerRow[] = [];
  for (const { measure, load } of costs) {
    bench.say(measure);
    const cells = await eachCell(subjects, async (subject) => {
      const problem = await findProblem(bench, load, subject);
      return { text: problem === undefined ? "" : `cannot: ${problem}` };
    });
    const able = subjects.filter((subject) => cells.get(subject)?.text === "");
    const { rounds, problems } = await measureRounds(bench, load, able);
    for (const [problem, count] of problems) bench.say(`  ${count} x ${problem}`);
    for (const subject of [...able, bench.pipe]) {
      const value = medianCost(rounds, subject);
      cells.set(subject, { text: `${value.toFixed(value < 100 ? 1 : 0)} us`, value });
    }
    rows.push({ measure, cells, inconclusive: rounds.inconclusive });
  }
  return rows;
}

/** Below what the slowest of them can serve on one core. */
const perSecond = 40;

async function measureDelays(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  const answers: Script = { kind: "json" };
  return [
    await addedRow(bench, subjects, { script: answers, title: "an answer of a 1 KB request" }),
    await addedRow(bench, subjects, { script: firstEventScript, title: "the first event of a stream" }),
  ];
}

async function addedRow(
  bench: Bench,
  subjects: readonly LoadSubject[],
  { script, title }: { readonly script: Script; readonly title: string },
): Promise<PeerRow> {
  const measure = `time to ${title}, added to the upstream's own, ${perSecond} a second, p50 / p99`;
  bench.say(measure);
  const delays = async ({ target }: LoadSubject) => {
    const offered = await bench.load.call("offer", {
      target,
      script,
      perSecond,
      connections: 100,
      forMs: 3 * bench.pace.windowMs,
      settleMs: bench.pace.warmUpMs,
    });
    for (const [problem, count] of offered.problems) bench.say(`  ${count} x ${problem}`);
    const ms = script.kind === "json" ? offered.servedMs : offered.firstMs;
    return { p50: percentile(ms, 50), p99: percentile(ms, 99), failed: offered.sent - offered.servedMs.length };
  };
  const own = await delays(bench.direct);
  const cells = await eachCell([bench.pipe, ...subjects], async (subject) => {
    const { p50, p99, failed } = await delays(subject);
    // Those that were sent last are still under way.
    if (failed > perSecond) return { text: `${failed} failed` };
    return { text: `${(p50 - own.p50).toFixed(1)} / ${(p99 - own.p99).toFixed(1)} ms`, value: p50 - own.p50 };
  });
  return { measure, cells };
}

const idleStreams = 500;
const settleMs = 3_000;
const kib = 1_024;

const residentBytes = ({ pids }: LoadSubject) => pids.reduce((sum, pid) => sum + (ownBytes(pid) || 0), 0);

/** @returns how many were still open in the end, too */
async function idleBytes({ load }: Bench, subject: LoadSubject, count: number) {
  try {
    await load.call("openIdle", { target: subject.target, count });
    await delay(settleMs);
    return { bytes: residentBytes(subject), open: await load.call("closeIdle") };
  } finally {
    await load.call("closeIdle");
  }
}

async function measureMemory(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  bench.say("memory");
  const bare = new Map<LoadSubject, Cell>();
  const cells = await eachCell(subjects, async (subject) => {
    // Not counted: a process keeps the code and the connections of its first streams.
    await idleBytes(bench, subject, 50);
    await delay(settleMs);
    const before = residentBytes(subject);
    bare.set(subject, { text: `${Math.round(before / kib / kib)} MiB`, value: before });
    const { bytes, open } = await idleBytes(bench, subject, idleStreams);
    const each = (bytes - before) / kib / idleStreams;
    const left = open === idleStreams ? "" : `, ${idleStreams - open} were closed`;
    return { text: `${each.toFixed(0)} KiB${left}`, value: each };
  });
  return [
    { measure: "memory of all processes, nothing to do", cells: bare },
    { measure: `memory of a stream, ${idleStreams} open that wait, garbage included`, cells },
  ];
}

async function measureCancels(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow> {
  bench.say("cancel");
  const cells = await eachCell(subjects, async ({ target }) => {
    const delays = await cancelDelays(bench, target, { open: 20, batch: 10, batches: 4 });
    if (delays.ms.length === 0) return { text: "the upstream is never told" };
    return { text: cancelText(delays), ...(delays.never === 0 && { value: percentile(delays.ms, 50) }) };
  });
  return { measure: "client closes a stream until the upstream's socket is closed, p50 / p99", cells };
}

/** Longer than the limit for silence of any gateway here that has one by default. */
const patienceMs = 150_000;

/** Runs beside all others, since it waits for minutes and does nothing meanwhile. */
async function watchStalls({ load }: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow> {
  const watched = subjects.map(async (subject) => {
    const stalled = await load.call("watchStalled", { target: subject.target, limitMs: patienceMs });
    return [subject, { text: stalledText(stalled) }] as const;
  });
  const measure = `a provider falls silent after the first event of a stream: what its client hears within ${patienceMs / 1_000} s`;
  return { measure, cells: new Map(await Promise.all(watched)) };
}

export function stalledText({ comments, endedMs, last }: StalledStream): string {
  const meanwhile = comments === 0 ? "" : `, ${comments} comments before`;
  if (endedMs === undefined) return `no end${comments === 0 ? ", nothing" : `, ${comments} comments`}`;
  const said = last === "" ? "the connection ends without a word" : `\`${last.slice(0, 120)}\``;
  return `after ${(endedMs / 1_000).toFixed(0)} s: ${said}${meanwhile}`;
}

/** @param subjects the gateways */
export async function measurePeers(bench: Bench, subjects: readonly LoadSubject[]): Promise<readonly PeerRow[]> {
  // Memory comes first: free space in a heap that has served others would hide what streams take.
  const memory = await measureMemory(bench, subjects);
  const stalls = watchStalls(bench, subjects);
  const rows = [
    ...(await measureCosts(bench, subjects)),
    ...(await measureDelays(bench, subjects)),
    ...memory,
    await measureCancels(bench, subjects),
  ];
  return [...rows, await stalls];
}
