/** Runs warm-up requests in a process before it is ready. */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../log/log.ts";
import { optimizeSooner } from "./tiering.ts";

/**
 * Number of times that a service is opened for the warm-up. V8 ties compiled code to the objects that it has seen;
 * after a second service it compiles code that also fits the real one.
 */
const rounds = 2;

/**
 * Milliseconds to open and close the parts of a warm-up, on a machine that is busy with the start of other processes.
 */
const framesMs = 5_000;

/**
 * Settles when the process is warm, or when the time is over. After a failed warm-up the process is only slower, so it
 * starts anyway.
 * @param limitMs 0 for no warm-up
 * @param warmUp opens a service, lets it serve for the given time and closes it
 */
export async function warmBeforeReady(
  limitMs: number,
  log: Pick<Logger, "warn">,
  warmUp: (limitMs: number) => Promise<void>,
): Promise<void> {
  if (limitMs === 0) return;
  optimizeSooner();
  const end = new AbortController();
  const failed = (error: unknown) =>
    log.warn({ err: error }, "the process is not warm: its first requests take longer");
  const late = delay(limitMs + framesMs, undefined, { signal: end.signal, ref: false }).then(
    () => failed(new Error("the warm-up did not come to its end")),
    () => {},
  );
  const endsAt = performance.now() + limitMs;
  const run = async () => {
    for (let round = 0; round < rounds && performance.now() < endsAt; round++) {
      // Opening and closing a service takes time too, by which the next round is shorter.
      await warmUp(Math.min(limitMs / rounds, endsAt - performance.now()));
    }
  };
  await Promise.race([run().catch(failed), late]);
  end.abort();
}
