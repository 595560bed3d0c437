/** Log and metrics for the services of a warm-up, which go nowhere. */
import { randomBytes } from "node:crypto";
import { Lifecycle } from "../process/lifecycle.ts";
import { type LogLevel, openLog } from "../log/log.ts";
import { Registry } from "../metrics/metrics.ts";
import type { ProcessDeps } from "../process/process-parts.ts";

export function createWarmUpParts(room: string, level: LogLevel): ProcessDeps {
  const log = openLog(room, level, { write: () => {} });
  return {
    instance: "warm-up",
    token: randomBytes(32).toString("hex"),
    certificates: undefined,
    lifecycle: new Lifecycle(log),
    log,
    registry: new Registry(room),
    tracing: undefined,
    share: 1,
  };
}
