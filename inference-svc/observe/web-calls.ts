/** Searches of the web, and pages that are read: how many, how they end, and what they take. */
import { Counter, Histogram, type Registry } from "@sluice/proto/runtime/metrics.js";
import type { WebWatch } from "../web/web.ts";

export function webMetrics(registry: Registry): WebWatch {
  const registers = [registry];
  const calls = new Counter({
    name: "sluice_web_calls_total",
    help: "Searches and fetches of the web by how they ended: answered, failed (refused ones, too), or cancelled by the end of the turn.",
    labelNames: ["kind", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_web_call_seconds",
    help: "From the search or fetch to its result, or to its failure.",
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
