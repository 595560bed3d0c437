/** What becomes of spans on their way out: counted, and said once in the log when it begins to fail. */
import type { SpanExporter } from "@opentelemetry/sdk-trace-base";
import { Counter } from "../metrics.ts";
import type { TracingOptions } from "./open.ts";

export function watched(
  exporter: SpanExporter,
  { log, registry }: Pick<TracingOptions, "log" | "registry">,
): SpanExporter {
  const spans = new Counter({
    name: "sluice_trace_spans_total",
    help: "Spans that were handed to the collector: delivered, or lost because it did not take them.",
    labelNames: ["result"],
    registers: [registry],
  });
  let failing = false;
  return {
    export(batch, settled) {
      exporter.export(batch, (result) => {
        const failed = result.error !== undefined;
        spans.inc({ result: failed ? "lost" : "delivered" }, batch.length);
        if (failed && !failing) log.warn({ reason: result.error?.name }, "spans cannot be delivered");
        if (!failed && failing) log.info("spans are delivered again");
        failing = failed;
        settled(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
