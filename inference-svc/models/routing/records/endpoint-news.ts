/** Exchanges news with other processes about endpoints that fail or answer again. */
import { Counter, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { type Catalog, type Endpoint, endpointName } from "../catalog.ts";
import type { EndpointRecords } from "./endpoint-record.ts";

export interface EndpointNewsDeps {
  readonly access: Pick<Access, "onEndpoints" | "reportEndpoint">;
  /** Returns the current catalogue. */
  readonly catalog: () => Catalog;
  readonly records: EndpointRecords;
  readonly registry: Registry;
}

/** Starts the exchange. Must be called before the policy is watched, because news is sent and received on that stream. */
export function exchangeEndpointNews({ access, catalog, records, registry }: EndpointNewsDeps): void {
  const counts = new Counter({
    name: "sluice_endpoint_news_total",
    help: "Endpoints that failed or answered again: told to other processes, and heard from them.",
    labelNames: ["direction"],
    registers: [registry],
  });
  // Both counters exist from the start, so their first increase is visible.
  const sentCount = counts.labels({ direction: "told" });
  const receivedCount = counts.labels({ direction: "heard" });
  records.onChange((endpoint, failing) => {
    access.reportEndpoint({ endpoint: endpointName(endpoint), failing });
    sentCount.inc();
  });
  access.onEndpoints((news) => {
    for (const { endpoint: name, failing } of news) {
      // A process with another configuration may have other endpoints.
      const known = findEndpoint(catalog(), name);
      if (!known) continue;
      records.get(known).ejection.noteNews(failing, records.now());
      receivedCount.inc();
    }
  });
}

const findEndpoint = ({ models }: Catalog, name: string): Endpoint | undefined =>
  models.flatMap(({ endpoints }) => endpoints).find((endpoint) => endpointName(endpoint) === name);
