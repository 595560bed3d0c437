/** How soon the upstream notices a client's disconnect. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, ResultRow } from "../bench.ts";
import type { CancelOptions } from "../client/cancel.ts";
import type { LoadTarget } from "../client/target.ts";
import { percentile } from "../measure/rounds.ts";
import { type Script, endlessDeltas } from "../script.ts";

const batches: CancelBatches = { open: 100, batch: 25, batches: 8, gapMs: 20 };
const limitMs = 100;
/** Milliseconds after which a stream still served by the upstream counts as never cancelled. */
export const cancelLimitMs = 2_000;

export const cancelScript = ({ gapMs }: CancelBatches): Script => ({ kind: "paced", deltas: endlessDeltas, gapMs });
export const ownCancelScript = cancelScript(batches);

export type CancelBatches = Omit<CancelOptions, "target">;

export interface CancelDelays {
  readonly ms: readonly number[];
  /** Number of streams that the upstream still served after the limit. */
  readonly never: number;
}

export async function measureCancel(bench: Bench): Promise<ResultRow> {
  // These first cancellations of a process are slow, and not counted.
  await cancelDelays(bench, bench.installation.target, batches);
  const pipe = await cancelDelays(bench, bench.pipe.target, batches);
  const installation = await cancelDelays(bench, bench.installation.target, batches);
  const p99 = percentile(installation.ms, 99);
  return {
    measure: `cancel: client closes until upstream sees it, ${batches.open} open, ${batches.batch} at a time, ${batches.batch * batches.batches} in all, p50 / p99`,
    installation: cancelText(installation),
    pipe: cancelText(pipe),
    ratio: "",
    gate: `p99 <= ${limitMs} ms`,
    verdict: installation.never === 0 && p99 <= limitMs ? "pass" : "FAIL",
  };
}

export async function cancelDelays(
  { load, mock }: Bench,
  target: LoadTarget,
  options: CancelBatches,
): Promise<CancelDelays> {
  const closed = await load.call("cancelBatches", { target, ...options });
  const tags = [...closed.keys()];
  const until = performance.now() + cancelLimitMs;
  let seen = await mock.call("closed", tags);
  while ([...seen.values()].includes(undefined) && performance.now() < until) {
    await delay(20);
    seen = await mock.call("closed", tags);
  }
  const ms = tags.flatMap((tag) => {
    const at = seen.get(tag);
    return at === undefined ? [] : [at - (closed.get(tag) as number)];
  });
  return { ms, never: tags.length - ms.length };
}

export function cancelText({ ms, never }: CancelDelays): string {
  const figures = `${percentile(ms, 50).toFixed(1)} / ${percentile(ms, 99).toFixed(1)} ms`;
  return never === 0 ? figures : `${figures}, ${never} never`;
}
