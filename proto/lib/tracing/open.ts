/** Starts the tracing of a process if its environment enables it. */
import { type TracingOptions, readTracing } from "./settings.ts";
import type { Tracing } from "./span.ts";

/**
 * Loads the libraries on demand, because they take 15 MB and a tenth of a second that processes without tracing save.
 * @throws ConfigError for invalid settings
 */
export async function openTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const settings = readTracing(options.environment);
  if (!settings) return undefined;
  const { openTelemetry } = await import("./open-telemetry.ts");
  return openTelemetry(settings, options);
}
