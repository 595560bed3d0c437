/** Idle streams, cancelled streams, and streams of a silent provider. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench } from "../bench.ts";
import type { StalledStream } from "../client/stalled.ts";
import { ownBytes } from "../../../support/machine.ts";
import { percentile } from "../measure/rounds.ts";
import { type CancelBatches, cancelDelays, cancelText, cancelLimitMs } from "../scenarios/cancel.ts";
import type { LoadSubject } from "../subject.ts";
import { type Cell, type ComparableCell, type PeerRow, measureCells } from "./rows.ts";

const idleStreams = 500;
const settleMs = 3_000;
const kib = 1_024;

const residentBytes = ({ pids }: LoadSubject) => pids.reduce((sum, pid) => sum + (ownBytes(pid) || 0), 0);

/** @returns bytes in use, and the number of streams still open at the end */
async function idleBytes({ load }: Bench, subject: LoadSubject, count: number) {
  try {
    await load.call("openIdle", { target: subject.target, count });
    await delay(settleMs);
    return { bytes: residentBytes(subject), open: await load.call("closeIdle") };
  } finally {
    await load.call("closeIdle");
  }
}

async function streamMemory(bench: Bench, subject: LoadSubject): Promise<ComparableCell> {
  const before = residentBytes(subject);
  const { bytes, open } = await idleBytes(bench, subject, idleStreams);
  const value = (bytes - before) / kib / idleStreams;
  const left = open === idleStreams ? "" : `, ${idleStreams - open} were closed`;
  return { text: `${value.toFixed(0)} KiB${left}`, value };
}

/** Measures the memory of streams twice, and takes the larger figure: garbage of the start may be freed meanwhile, and freed space may be reused. */
export async function measureMemory(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow[]> {
  bench.say("memory");
  const bare = new Map<LoadSubject, Cell>();
  const cells = await measureCells(subjects, async (subject) => {
    // These first streams are not counted, since a process keeps their code and connections.
    await idleBytes(bench, subject, 50);
    await delay(settleMs);
    const before = residentBytes(subject);
    bare.set(subject, { text: `${Math.round(before / kib / kib)} MiB`, value: before });
    const first = await streamMemory(bench, subject);
    await delay(settleMs);
    const second = await streamMemory(bench, subject);
    return first.value > second.value ? first : second;
  });
  return [
    { measure: "memory of all processes, nothing to do", cells: bare },
    { measure: `memory of a stream, ${idleStreams} open that wait, garbage included`, cells },
  ];
}

/** Streams with fewer events than those of a fast model, to stay below LiteLLM's limit. */
export const cancelLoad: CancelBatches = { open: 20, batch: 10, batches: 4, gapMs: 50 };

export async function measureCancels(bench: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow> {
  bench.say("cancel");
  const cells = await measureCells(subjects, async ({ target }) => {
    const delays = await cancelDelays(bench, target, cancelLoad);
    if (delays.ms.length === 0) return { text: `never: still served after ${cancelLimitMs / 1_000} s` };
    return { text: cancelText(delays), ...(delays.never === 0 && { value: percentile(delays.ms, 50) }) };
  });
  return { measure: "client closes a stream until the upstream's socket is closed, p50 / p99", cells };
}

/** Duration of the provider's silence: longer than the default limit of each gateway. */
const silenceMs = 150_000;

/** Watches streams of a silent provider. This runs during the warm-up, since it mostly waits, for minutes. */
export async function watchStalls({ load }: Bench, subjects: readonly LoadSubject[]): Promise<PeerRow> {
  const watched = subjects.map(async (subject) => {
    const stalled = await load.call("watchStalled", { target: subject.target, limitMs: silenceMs });
    return [subject, { text: describeStalledStream(stalled) }] as const;
  });
  const measure = `a provider falls silent after the first event of a stream: what its client hears within ${silenceMs / 1_000} s`;
  return { measure, cells: new Map(await Promise.all(watched)) };
}

const messageIn = (event: string): string => /"message": ?"([^"]*)"/.exec(event)?.[1] ?? event.slice(0, 120);

export function describeStalledStream({ comments, endedMs, last }: StalledStream): string {
  const meanwhile = comments === 0 ? "" : `, ${comments} comments before`;
  if (endedMs === undefined) return `no end${comments === 0 ? ", nothing" : `, ${comments} comments`}`;
  const said = last === "" ? "the connection ends without a word" : `"${messageIn(last)}"`;
  return `after ${(endedMs / 1_000).toFixed(0)} s: ${said}${meanwhile}`;
}
