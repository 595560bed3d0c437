/** Metrics of deliveries to sinks. Names of sinks come from the configuration file, so there are few. */
import { Counter, type Registry, labelledGauge } from "@sluice/proto/runtime/metrics.js";
import type { AlertCounts } from "../store/alerts/outbox.ts";

export interface SinkMetrics {
  readonly attempts: Counter<"sink" | "result">;
}

/** @param counts alerts that are not delivered, as they were counted last */
export function alertMetrics(registry: Registry, counts: () => readonly AlertCounts[]): SinkMetrics {
  labelledGauge(
    registry,
    {
      name: "sluice_alerts",
      help: "Alerts that are not delivered, by sink and state: waiting, or dead (given up after three days).",
      labelNames: ["sink", "state"],
    },
    (set) => {
      for (const { sink, waiting, dead } of counts()) {
        set({ sink, state: "waiting" }, Number(waiting));
        set({ sink, state: "dead" }, Number(dead));
      }
    },
  );
  const attempts = new Counter({
    name: "sluice_alert_attempts_total",
    help: "Attempts to deliver an alert, by sink and result: delivered, failed (tried again) or dead (given up after three days).",
    labelNames: ["sink", "result"],
    registers: [registry],
  });
  return { attempts };
}
