/** Metric with the state of each endpoint called so far. */
import { type Registry, labelledGauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { Catalog } from "../catalog.ts";
import type { EndpointState } from "../attempt/ejection.ts";
import type { EndpointRecords } from "./endpoint-record.ts";

const values: Readonly<Record<EndpointState, number>> = { "in use": 0, "on trial": 1, ejected: 2 };

/** @param catalog returns the catalogue, read at each scrape; its names come from the configuration file, so there are few label values */
export function endpointMetrics(registry: Registry, catalog: () => Catalog, records: EndpointRecords): void {
  const states = {
    name: "sluice_endpoint_state",
    help: "State of endpoints that were called: 0 in use, 1 on trial after an ejection, 2 ejected for failing.",
    labelNames: ["model", "provider", "tier", "quantization"],
  } as const;
  labelledGauge(registry, states, (set) => {
    for (const { endpoints } of catalog().models) {
      for (const endpoint of endpoints) {
        const state = records.find(endpoint)?.ejection.state(records.now());
        if (state) set(endpoint, values[state]);
      }
    }
  });
}
