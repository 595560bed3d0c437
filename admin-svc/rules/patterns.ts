/**
 * Compiles patterns beside the process, within limits: a few thousand characters can ask for seconds and for gigabytes, and nobody who writes a
 * guardrail may hold up those who resolve keys.
 */
import { Worker } from "node:worker_threads";

/** A hundred ordinary patterns take a tenth of a second. */
const limitMs = 5_000;
const resourceLimits = { maxOldGenerationSizeMb: 256 };

type Complaints = readonly (string | null)[];

/** One after the other: who sends many waits for his own. */
let last: Promise<unknown> = Promise.resolve();

/** What is wrong with each, null where nothing is. */
export function complaintsAbout(patterns: readonly string[]): Promise<Complaints | "too complex"> {
  if (patterns.length === 0) return Promise.resolve([]);
  const checked = last.then(() => check(patterns));
  last = checked.catch(() => {});
  return checked;
}

function check(patterns: readonly string[]): Promise<Complaints | "too complex"> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./pattern-worker.js", import.meta.url), {
      workerData: patterns,
      resourceLimits,
    });
    let timer: NodeJS.Timeout | undefined;
    worker.once("online", () => {
      timer = setTimeout(() => settle("too complex"), limitMs);
    });
    worker.once("message", (complaints: Complaints) => settle(complaints));
    worker.once("error", (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      if (error.code === "ERR_WORKER_OUT_OF_MEMORY") resolve("too complex");
      else reject(error);
    });
    const settle = (outcome: Complaints | "too complex") => {
      clearTimeout(timer);
      resolve(outcome);
      void worker.terminate();
    };
  });
}
