/** Metrics and spans of calls to external detectors. */
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { untraced } from "@sluice/proto/lib/tracing/context.js";
import type { Tracing } from "@sluice/proto/lib/tracing/span.js";
import type { CallWatch, OnCallEnd } from "./detector.ts";
import { addressAttributes } from "../../models/ledger/observers/traced-calls.ts";

/** Metrics of calls by detector. Detectors come from the configuration file, so the label values are few. */
export function detectorMetrics(registry: Registry): CallWatch {
  const registers = [registry];
  const calls = new Counter({
    name: "sluice_detector_calls_total",
    help: "Calls to detectors by outcome: answered, refused, unreadable, unreachable, or cancelled by the end of the turn.",
    labelNames: ["detector", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_detector_call_seconds",
    help: "Seconds from a call to a detector to its answer or failure.",
    labelNames: ["detector"],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
    registers,
  });
  return (detector) => {
    const begunAt = performance.now();
    return (outcome) => {
      calls.labels({ detector, outcome }).inc();
      seconds.labels({ detector }).observe((performance.now() - begunAt) / 1_000);
    };
  };
}

/** Spans of calls. @param detectors returns the detectors configured at the time of the call */
export const tracedDetectors =
  (tracing: Tracing, detectors: () => readonly DetectorSettings[]): CallWatch =>
  (detector, { span: parent = untraced }) => {
    const settings = detectors().find(({ id }) => id === detector);
    const span = tracing.start(`detect ${detector}`, {
      kind: "client",
      parent,
      attributes: { "sluice.detector": detector, ...addressAttributes(settings?.base_url) },
    });
    return (outcome) => {
      span.set({ "sluice.outcome": outcome });
      if (outcome !== "answered" && outcome !== "cancelled") span.fail(outcome);
      span.end();
    };
  };

/** Combines several watches into one. */
export const combineWatches =
  (watches: readonly CallWatch[]): CallWatch =>
  async (detector, scope) => {
    const ends: OnCallEnd[] = [];
    for (const watch of watches) ends.push(await watch(detector, scope));
    return (outcome) => {
      for (const end of ends) end(outcome);
    };
  };
