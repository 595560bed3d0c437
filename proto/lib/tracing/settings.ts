/** Settings of tracing, from the standard environment variables of OpenTelemetry. */
import { z } from "zod";
import { ConfigError, readEnvironment } from "../process/environment.ts";
import type { Logger } from "../log/log.ts";
import type { Registry } from "../metrics/metrics.ts";

const url = z.url({ protocol: /^https?$/, error: "not an http or https URL" }).optional();

/**
 * The variables that are checked here. The libraries read further ones themselves: headers, timeout, certificates,
 * limits and batches.
 */
export const tracingEnvironment = z.object({
  /** Base address of the collector; traces go to /v1/traces below it. */
  OTEL_EXPORTER_OTLP_ENDPOINT: url,
  /** Full address for traces, which takes precedence over the base address. */
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url,
  OTEL_EXPORTER_OTLP_PROTOCOL: z.string().optional(),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: z.string().optional(),
  OTEL_TRACES_EXPORTER: z.enum(["otlp", "none"], "otlp or none").optional(),
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_TRACES_SAMPLER: z
    .enum([
      "always_on",
      "always_off",
      "traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "parentbased_traceidratio",
    ])
    .optional(),
  OTEL_TRACES_SAMPLER_ARG: z.coerce.number().min(0).max(1).optional(),
});

const protocols = ["http/protobuf", "http/json"] as const;

export interface TracingOptions {
  /** Default of the attribute `service.name`; OTEL_SERVICE_NAME overrides it. */
  readonly room: string;
  /** Value of the attribute `service.instance.id`. */
  readonly instance: string;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly registry: Registry;
  readonly environment: NodeJS.ProcessEnv;
}

export interface TracingSettings {
  readonly protocol: (typeof protocols)[number];
}

/** Reads the settings; undefined when tracing is off. @throws ConfigError for invalid settings */
export function readTracing(environment: NodeJS.ProcessEnv): TracingSettings | undefined {
  const read = readEnvironment(tracingEnvironment, environment);
  const endpoint = read.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? read.OTEL_EXPORTER_OTLP_ENDPOINT;
  const disabled = read.OTEL_SDK_DISABLED?.toLowerCase() === "true" || read.OTEL_TRACES_EXPORTER === "none";
  if (endpoint === undefined || disabled) return undefined;
  const named = read.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? read.OTEL_EXPORTER_OTLP_PROTOCOL ?? protocols[0];
  const protocol = protocols.find((each) => each === named);
  if (!protocol) {
    throw new ConfigError("environment", [
      `OTEL_EXPORTER_OTLP_PROTOCOL: ${named} is not spoken here: ${protocols.join(" or ")}`,
    ]);
  }
  return { protocol };
}
