/** Tracing of a process, when its environment asks for it. */
import type { Logger } from "../log.ts";
import type { Registry } from "../metrics.ts";
import { readTracing } from "./settings.ts";
import type { Tracing } from "./span.ts";

export interface TracingOptions {
  /** `service.name` unless OTEL_SERVICE_NAME says otherwise. */
  readonly room: string;
  /** `service.instance.id`. */
  readonly instance: string;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
  readonly environment: NodeJS.ProcessEnv;
}

/** The libraries are loaded only now: 15 MB and a tenth of a second, which nobody pays who does not trace. @throws ConfigError */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const settings = readTracing(options.environment);
  if (!settings) return undefined;
  const { openTelemetry } = await import("./open-telemetry.ts");
  return openTelemetry(settings, options);
}
