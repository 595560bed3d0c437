/**
 * Metrics of deliveries to sinks. The label with the sink's name has few values, because sinks are named in the
 * configuration file.
 */
import { Counter, type Registry, labelledGauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { AlertCounts } from "../store/alerts/outbox.ts";
import type { ExportLag } from "../store/exports/cursors.ts";

export interface SinkMetrics {
  readonly attempts: Counter<"sink" | "result">;
}

export interface ExportMetrics {
  readonly attempts: Counter<"sink" | "result">;
  readonly turns: Counter<"sink">;
}

/** @param lags returns the lags as last read */
export function exportMetrics(registry: Registry, lags: () => readonly ExportLag[]): ExportMetrics {
  labelledGauge(
    registry,
    {
      name: "sluice_export_lag_seconds",
      help: "Seconds since the oldest turn began that an export has not delivered; 0 when there is none.",
      labelNames: ["sink"],
    },
    (set) => {
      for (const { export: sink, seconds } of lags()) set({ sink }, seconds);
    },
  );
  const attempts = new Counter({
    name: "sluice_export_attempts_total",
    help: "Attempts to deliver a batch of turns, by sink and result: delivered, or failed (tried again).",
    labelNames: ["sink", "result"],
    registers: [registry],
  });
  const turns = new Counter({
    name: "sluice_exported_turns_total",
    help: "Turns that an export has delivered, by sink.",
    labelNames: ["sink"],
    registers: [registry],
  });
  return { attempts, turns };
}

/** @param counts returns the numbers of undelivered alerts as last counted */
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
