/** Calls to detectors beside the house: how many, how they end, what they take, and where they stand in a trace. */
import type { DetectorSettings } from "@sluice/proto/runtime/house/detectors.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/runtime/metrics.js";
import { untraced } from "@sluice/proto/runtime/tracing/context.js";
import type { Tracing } from "@sluice/proto/runtime/tracing/span.js";
import type { CallWatch } from "../internal/detection/detector.ts";
import { addressAttributes } from "./address.ts";

/** Detectors are those of the house file, so that they are few. */
export function detectorMetrics(registry: Registry): CallWatch {
  const registers = [registry];
  const calls = new Counter({
    name: "sluice_detector_calls_total",
    help: "Calls to detectors by how they ended: answered, refused, unreadable, unreachable, or cancelled by the end of the turn.",
    labelNames: ["detector", "outcome"],
    registers,
  });
  const seconds = new Histogram({
    name: "sluice_detector_call_seconds",
    help: "From the call to its answer, or to its failure.",
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

/** @param detectors as they are now */
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

/** One for several. */
export const watchedBy =
  (watches: readonly CallWatch[]): CallWatch =>
  (detector, scope) => {
    const ends = watches.map((watch) => watch(detector, scope));
    return (outcome) => {
      for (const end of ends) end(outcome);
    };
  };
