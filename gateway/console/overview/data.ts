/** Sums over the records of the last thirty days. */
import { type Schemas, api, take } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import type { Key } from "../keys/data.ts";

type Activity = Schemas["Activity"];

export interface Totals {
  readonly cost: number;
  readonly requests: number;
  readonly tokens: number;
}

export interface Day extends Totals {
  /** Such as 2026-11-21, in UTC. */
  readonly date: string;
}

export interface Named extends Totals {
  readonly name: string;
}

export interface OverviewData {
  readonly today: Totals;
  readonly month: Totals;
  /** Thirty days, oldest first. */
  readonly days: readonly Day[];
  /** Models with the highest cost first. */
  readonly models: readonly Named[];
  readonly keys: readonly Key[];
  readonly credits: Schemas["CreditsAnswer"]["data"];
}

export async function loadOverview(): Promise<OverviewData> {
  const [activity, credits, keys] = await Promise.all([
    take(api.GET("/activity", {})),
    take(api.GET("/credits", {})),
    everyPage((page) => take(api.GET("/keys", { params: { query: { ...page, include_disabled: true } } }))),
  ]);
  const days = lastDays(activity.data);
  return {
    today: days.at(-1) as Day,
    month: sum(activity.data),
    days,
    models: byName(activity.data, ({ model }) => model),
    keys,
    credits: credits.data,
  };
}

const sum = (rows: readonly Activity[]): Totals => ({
  cost: rows.reduce((total, { usage }) => total + usage, 0),
  requests: rows.reduce((total, { requests }) => total + requests, 0),
  tokens: rows.reduce((total, row) => total + row.prompt_tokens + row.completion_tokens, 0),
});

const dayMs = 86_400_000;

function lastDays(rows: readonly Activity[]): Day[] {
  const byDate = Map.groupBy(rows, ({ date }) => date.slice(0, 10));
  return Array.from({ length: 30 }, (_, n) => {
    const date = new Date(Date.now() - (29 - n) * dayMs).toISOString().slice(0, 10);
    return { date, ...sum(byDate.get(date) ?? []) };
  });
}

const byName = (rows: readonly Activity[], nameOf: (row: Activity) => string): Named[] =>
  [...Map.groupBy(rows, nameOf)]
    .map(([name, group]) => ({ name, ...sum(group) }))
    .toSorted((a, b) => b.cost - a.cost || b.requests - a.requests);

/** Keys that have spent at least four fifths of their budget, those with the least left first. */
export function nearLimit(keys: readonly Key[]): Key[] {
  const share = ({ limit, limit_remaining: left }: Key) => (limit && left !== null ? 1 - (left ?? 0) / limit : 0);
  return keys.filter((key) => !key.disabled && share(key) >= 0.8).toSorted((a, b) => share(b) - share(a));
}
