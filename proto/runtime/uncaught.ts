/**
 * A process that serves outlives its own mistakes: an error that nobody caught, such as a timer that found no descriptor left, would end every
 * stream that is open. It is logged and counted, and only what threw it is lost. While a process starts, such an error ends it.
 */
import type { Logger } from "./log.ts";
import { Counter, type Registry } from "./metrics.ts";

/** From now on. */
export function outliveErrors(log: Pick<Logger, "error">, registry: Registry): void {
  const count = new Counter({
    name: "sluice_uncaught_errors_total",
    help: "Errors that nothing in the process has caught; each is in its log.",
    registers: [registry],
  });
  process.on("uncaughtException", (error) => {
    count.inc();
    log.error({ err: error }, "an error was caught by nothing; the process goes on");
  });
}
