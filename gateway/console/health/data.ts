/** Health of providers: calls of a period by provider and model, and the current state of the endpoints in one process. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { toView } from "../explorer/address.ts";
import { rangeOf } from "../explorer/time.ts";
import { type Provider, loadEndpoints, loadProviders } from "../models/data.ts";

export type CalledModel = Schemas["CalledModel"];

/** Periods of the page by their names in the explorer's address, so that a link leads to figures of the same time. */
export const periods = [
  ["1h", "Last hour"],
  ["24h", "Last 24 hours"],
  ["7d", "Last 7 days"],
] as const;
export const defaultPeriod = "24h";

export interface ProviderHealth {
  /** Id of the provider, or of another service paid for by a key. */
  readonly id: string;
  /** The provider; undefined if it serves no models now. */
  readonly provider: Provider | undefined;
  readonly models: readonly CalledModel[];
  /** Slugs of models with an endpoint ejected in the process that answered. */
  readonly ejected: ReadonlySet<string>;
}

/** Maximum number of models whose endpoints are loaded, since each takes a request. */
const maxAsked = 20;

export async function loadHealth(last: string): Promise<readonly ProviderHealth[]> {
  const query = { from: new Date(rangeOf(toView({ last }), Date.now()).from).toISOString() };
  const [{ data }, providers] = await Promise.all([
    unwrapAnswer(api.GET("/usage/health", { params: { query } })),
    loadProviders(),
  ]);
  const failing = new Set(
    providers.filter(({ status }) => status !== null && status !== "operational").map(({ slug }) => slug),
  );
  const ejected = await loadEjected(data.filter(({ provider }) => failing.has(provider)));
  const ids = new Set([...data.map(({ provider }) => provider), ...providers.map(({ slug }) => slug)]);
  const list = [...ids].map((id) => ({
    id,
    provider: providers.find(({ slug }) => slug === id),
    models: data.filter(({ provider }) => provider === id),
    ejected: ejected.get(id) ?? new Set<string>(),
  }));
  // Providers with failures come first; otherwise the order of the answer stays.
  return list.toSorted((one, other) => Number(failing.has(other.id)) - Number(failing.has(one.id)));
}

/** Ejected models by provider. */
async function loadEjected(models: readonly CalledModel[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const slugs = [...new Set(models.map(({ model }) => model ?? ""))].filter((slug) => slug.includes("/"));
  const found = new Map<string, Set<string>>();
  await Promise.all(
    slugs.slice(0, maxAsked).map(async (slug) => {
      const [author = "", ...rest] = slug.split("/");
      // A model that was called may have been removed since.
      const endpoints = await loadEndpoints(author, rest.join("/")).catch(() => []);
      for (const { tag, status } of endpoints) {
        if (status >= 0) continue;
        const provider = tag.split("/")[0] ?? tag;
        found.set(provider, (found.get(provider) ?? new Set()).add(slug));
      }
    }),
  );
  return found;
}
