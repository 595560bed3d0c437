/** The state of each endpoint that was asked, as operators watch it. */
import { Gauge, type Registry } from "@sluice/proto/runtime/metrics.js";
import type { Catalog } from "./catalog.ts";
import type { EndpointState } from "./ejection.ts";
import type { EndpointRecords } from "./endpoint-record.ts";

const values: Readonly<Record<EndpointState, number>> = { "in use": 0, "on trial": 1, ejected: 2 };

/** @param catalog as it is when somebody looks. Its names are the operator's, so that they are few. */
export function endpointMetrics(registry: Registry, catalog: () => Catalog, records: EndpointRecords): void {
  const metric = new Gauge({
    name: "sluice_endpoint_state",
    help: "Of endpoints that were asked: 0 in use, 1 ejected for failing and tried again, 2 ejected.",
    labelNames: ["model", "provider", "tier", "quantization"],
    registers: [],
    collect() {
      this.reset();
      for (const { endpoints } of catalog().models) {
        for (const endpoint of endpoints) {
          const state = records.find(endpoint)?.ejection.state(records.now());
          const { model, provider, tier, quantization } = endpoint;
          if (state) this.set({ model, provider, tier, quantization }, values[state]);
        }
      }
    },
  });
  registry.registerMetric(metric);
}
