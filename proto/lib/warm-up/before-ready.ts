/** Runs the warm-up of a process. */
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "../log/log.ts";
import { optimizeSooner } from "./tiering.ts";

/**
 * Number of times a service is opened. V8 ties compiled code to the objects of the service it has seen; after a second service it compiles code that fits
 * the real one as well.
 */
const rounds = 2;

/** Time to open and close the parts of a warm-up, on a machine busy with the start of other processes. */
const framesMs = 5_000;

/**
 * Settles when the process is warm, or when its time is over. A failed warm-up costs only speed, so the process starts all the same.
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
      // Opening and closing a service takes time as well; the next round is shorter by this time.
      await warmUp(Math.min(limitMs / rounds, endsAt - performance.now()));
    }
  };
  await Promise.race([run().catch(failed), late]);
  end.abort();
}
