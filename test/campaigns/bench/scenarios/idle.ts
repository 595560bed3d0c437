/** Measures the memory of an idle stream. */
import { setTimeout as delay } from "node:timers/promises";
import type { Bench, ResultRow } from "../bench.ts";
import { idleScript } from "../client/idle.ts";
import { type InstallationMemory, kibText, memoryOfStream, sum } from "../measure/memory.ts";

export { idleScript };

/**
 * Number of uncounted streams, which stay open: a process keeps the code and tables of its first streams, and counted streams would otherwise fill
 * pages freed by them.
 */
const firstStreams = 200;
const streams = 4_000;
const limitKib = 25;
/** Milliseconds for work deferred at the start, such as usage records. */
const settleMs = 5_000;
/**
 * Milliseconds: longer than limits.keep_alive_ms, so comments have been sent, and shorter than timeouts.idle_ms of a provider, which would end
 * the streams.
 */
const quietMs = 20_000;

async function open(bench: Bench, count: number, waitMs: number): Promise<InstallationMemory> {
  const { load, installation } = bench;
  await load.call("openIdle", { target: installation.target, count });
  await delay(waitMs);
  const memory = await installation.readMemory();
  const mib = (bytes: readonly number[]) => bytes.map((each) => (each / 1_048_576).toFixed(1)).join(" + ");
  bench.say(`  ${count} streams: ${mib(memory.inUse)} MiB in use, ${mib(memory.resident)} MiB resident`);
  return memory;
}

export async function measureIdle(bench: Bench): Promise<ResultRow> {
  const before = await open(bench, firstStreams, settleMs);
  const after = await open(bench, firstStreams + streams, quietMs);
  const ended = firstStreams + streams - (await bench.load.call("closeIdle"));
  const { inUse, resident } = memoryOfStream(before, after, streams);
  const kib = Math.max(sum(inUse), sum(resident));
  return {
    measure: `idle: memory of a stream, ${streams} open for more than ${quietMs / 1_000} s, garbage collected`,
    installation: `${kibText(inUse)} in use, ${kibText(resident)} resident${ended === 0 ? "" : `, ${ended} ended`}`,
    pipe: "",
    ratio: "",
    gate: `both <= ${limitKib} KiB`,
    verdict: ended > 0 ? "FAIL" : kib <= limitKib ? "pass" : "MISS",
  };
}
