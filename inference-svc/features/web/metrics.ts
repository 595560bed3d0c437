/** Metrics of web searches, fetched pages and vector store searches: number, outcome and duration. */
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { WebWatch } from "../../services/guarded-service.ts";

export function webMetrics(registry: Registry): WebWatch {
  const registers = [registry];
  const calls = new Counter({
    name: "sluice_web_calls_total",
    help: "Web searches, fetches and searches of vector stores by outcome: answered, failed (refusals included), or cancelled by the end of the turn.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_web_call_seconds",
    help: "Seconds from a web search, fetch or search of a vector store to its result or failure.",
    labelNames: ["kind"],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20],
    registers,
  });
  return (kind) => {
    const begunAt = performance.now();
    return (outcome) => {
      calls.labels({ kind, outcome }).inc();
      seconds.labels({ kind }).observe((performance.now() - begunAt) / 1_000);
    };
  };
}
