/** The catalogue: models, their endpoints, and providers. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";

export type Model = Schemas["Model"];
export type Endpoint = Schemas["Endpoint"];
export type Provider = Schemas["Provider"];

export const modelsPerPage = 50;

export const sorts = [
  ["", "As configured"],
  ["newest", "Newest first"],
  ["pricing-low-to-high", "Lowest price first"],
  ["pricing-high-to-low", "Highest price first"],
  ["context-high-to-low", "Longest context first"],
] as const;

type Sort = Exclude<(typeof sorts)[number][0], "">;

export interface ModelSearch {
  readonly q: string;
  readonly sort: string;
  readonly offset: number;
}

export async function loadModels({
  q,
  sort,
  offset,
}: ModelSearch): Promise<{ models: readonly Model[]; total: number }> {
  const query = {
    q: q === "" ? undefined : q,
    sort: sort === "" ? undefined : (sort as Sort),
    offset,
    limit: modelsPerPage,
  };
  const { data, total_count: total } = await unwrapAnswer(api.GET("/models", { params: { query } }));
  return { models: data, total: total ?? data.length };
}

export const loadProviders = async (): Promise<readonly Provider[]> =>
  (await unwrapAnswer(api.GET("/providers", {}))).data;

const dayMs = 86_400_000;

/** Sums of the last day, by provider id. */
export async function loadProviderDay(): Promise<ReadonlyMap<string | null, Schemas["UsageTotal"]>> {
  const from = new Date(Date.now() - dayMs).toISOString();
  const { totals } = await unwrapAnswer(
    api.GET("/usage/series", { params: { query: { from, step: "hour", by: "provider", limit: 100 } } }),
  );
  return new Map(totals.map((total) => [total.value, total]));
}

export type LeftOut = Schemas["LeftOutProvider"];

export const loadLeftOut = async (): Promise<readonly LeftOut[]> =>
  (await unwrapAnswer(api.GET("/providers/left-out", {}))).data;

export async function loadEndpoints(author: string, slug: string): Promise<readonly Endpoint[]> {
  const params = { path: { author, slug } };
  return (await unwrapAnswer(api.GET("/models/{author}/{slug}/endpoints", { params }))).data.endpoints;
}

/** A price in USD per million tokens. @param price USD per token */
export function perMillion(price: string | undefined): string {
  const amount = Number(price ?? 0) * 1_000_000;
  if (amount === 0) return "free";
  return amount.toLocaleString("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 4 });
}
