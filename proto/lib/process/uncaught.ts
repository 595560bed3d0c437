/**
 * Keeps a serving process alive after uncaught errors, such as a timer that finds no free file descriptor, because an
 * exit would end every open stream. The error is logged and counted. During the start, such an error ends the process.
 */
import type { Logger } from "../log/log.ts";
import { Counter, type Registry } from "../metrics/metrics.ts";

/** Handles uncaught errors from now on. */
export function logUncaughtErrors(log: Pick<Logger, "error">, registry: Registry): void {
  const count = new Counter({
    name: "sluice_uncaught_errors_total",
    help: "Uncaught errors of the process; each is in its log.",
    registers: [registry],
  });
  process.on("uncaughtException", (error) => {
    count.inc();
    log.error({ err: error }, "uncaught error; the process goes on");
  });
}
