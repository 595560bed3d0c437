/** Sums over the last thirty days. */
import { type Schemas, api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import type { Key } from "../keys/data.ts";
import type { Total } from "../explorer/measures.ts";
import { type TimeRange, dayMs } from "../parts/time-steps.ts";

type Point = Schemas["UsagePoint"];

export interface OverviewData {
  /** Sums of today; undefined on a day without requests. */
  readonly today: Point | undefined;
  /** Sums of the thirty days; undefined without requests. */
  readonly month: Total | undefined;
  /** The thirty days as steps, in UTC. */
  readonly range: TimeRange;
  /** Costs of the days, in USD. */
  readonly costs: readonly number[];
  /** Models with the highest cost first. */
  readonly models: readonly Total[];
  /** Keys with requests refused for lack of budget, the most requests first. */
  readonly refused: readonly Total[];
  /** Sums by HTTP status of failed requests, the most frequent first. */
  readonly failures: readonly Total[];
  readonly keys: readonly Key[];
  readonly credits: Schemas["CreditsAnswer"]["data"];
}

const length = 30;
/** HTTP status of a request refused for lack of budget. */
export const noBudget = "402";

export async function loadOverview(): Promise<OverviewData> {
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  const from = today - (length - 1) * dayMs;
  const series = (by?: "model" | "status" | "key", status?: string) => {
    const query = { from: new Date(from).toISOString(), step: "day", by, status } as const;
    return unwrapAnswer(api.GET("/usage/series", { params: { query } }));
  };
  const [whole, models, statuses, refused, credits, keys] = await Promise.all([
    series(),
    series("model"),
    series("status"),
    series("key", noBudget),
    unwrapAnswer(api.GET("/credits", {})),
    everyPage((page) => unwrapAnswer(api.GET("/keys", { params: { query: { ...page, include_disabled: true } } }))),
  ]);
  const byDate = new Map(whole.data.map((point) => [dateOf(Date.parse(point.at)), point]));
  const starts = Array.from({ length }, (_, n) => from + n * dayMs);
  return {
    today: byDate.get(dateOf(today)),
    month: whole.totals[0],
    range: { from, to: today + dayMs, step: "day", starts },
    costs: starts.map((start) => Number(byDate.get(dateOf(start))?.cost_usd ?? 0)),
    models: models.totals.filter(({ is_other: other, value }) => !other && value !== null),
    refused: refused.totals.filter(({ value }) => value !== null).toSorted((a, b) => b.requests - a.requests),
    failures: statuses.totals.filter(({ failures }) => failures > 0).toSorted((a, b) => b.failures - a.failures),
    keys,
    credits: credits.data,
  };
}

const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Keys that have spent at least four fifths of their budget, least remaining first. */
export function keysNearBudget(keys: readonly Key[]): Key[] {
  const share = ({ limit, limit_remaining: left }: Key) => (limit && left !== null ? 1 - (left ?? 0) / limit : 0);
  return keys.filter((key) => !key.disabled && share(key) >= 0.8).toSorted((a, b) => share(b) - share(a));
}
