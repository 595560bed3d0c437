/** Metrics of sandbox runs: number, outcome and duration. */
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { SandboxWatch } from "./client.ts";

export function sandboxMetrics(registry: Registry): SandboxWatch {
  const registers = [registry];
  const runs = new Counter({
    name: "sluice_sandbox_runs_total",
    help: "Runs in the sandbox by outcome: answered, failed (refusals included), or cancelled by the end of the turn.",
    labelNames: ["outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_sandbox_run_seconds",
    help: "Seconds from a run in the sandbox to its answer or failure.",
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 60],
    registers,
  });
  return () => {
    const begunAt = performance.now();
    return (outcome) => {
      runs.labels({ outcome }).inc();
      seconds.observe((performance.now() - begunAt) / 1_000);
    };
  };
}
