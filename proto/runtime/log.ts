/** JSON lines on standard output. Prompts, answers, keys and end users are never logged: pass ids and counts. */
import { type Logger, pino } from "pino";

export type { Logger };

/** One logger a process. Lines are written by the batch (below the 16 KiB that the stream writes at once), at the latest after 200 ms, so that a request never waits for the pipe. */
export function openLog(room: string, level: string): Logger {
  const destination = pino.destination({ fd: 1, sync: false, minLength: 16_000, periodicFlush: 200 });
  process.on("exit", () => {
    try {
      destination.flushSync();
    } catch {
      // Not yet opened: nothing was logged.
    }
  });
  return pino({ level, base: { room, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}
