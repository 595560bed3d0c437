/**
 * Computes the figure that an alert rule on a view compares: from stored sums if possible, else from the records of the
 * rule's time window.
 */
import type { AlertRuleWords } from "@sluice/proto/contract/records/alert-rules.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { periodEnd } from "../../rules/budget-period.ts";
import type { Database } from "../database.ts";
import { callsOfProvider } from "../ledger/health.ts";
import { findPercentiles } from "../ledger/percentiles.ts";
import { type RecordSums, coverOf, recordSums, withRecordSums } from "../ledger/record-sums.ts";
import { periodStart, workspaceAccounts } from "../ledger/spending.ts";

/** The figure of an alert rule, and whether it meets the rule's condition. */
export interface CheckedFigure {
  /** Undefined when there was no usage to compute it from. */
  readonly value: number | undefined;
  readonly isMet: boolean;
}

interface Checked {
  readonly workspaceId: string;
  readonly rule: AlertRuleWords;
  readonly now: Date;
}

const minuteMs = 60_000;

/**
 * Reads the figure of a rule at a given time, with a few statements, each within the statement timeout of the
 * connection.
 */
export function readFigure(database: Kysely<Database>, checked: Checked): Promise<CheckedFigure> {
  const { condition } = checked.rule;
  if (condition === "provider_down") return providerFigure(database, checked);
  if (condition === "budget_forecast") return forecastFigure(database, checked);
  return withRecordSums(database, (connected) => sumsFigure(connected, checked));
}

interface WindowSums {
  readonly requests: number;
  readonly failures: number;
  readonly cost: number;
  readonly firstMs: number | undefined;
  readonly durationMs: number | undefined;
}

/** @param earlierBy number of time windows before the present one */
async function windowSums(
  database: Kysely<Database>,
  { workspaceId, rule, now }: Checked,
  earlierBy: 0 | 1 = 0,
): Promise<WindowSums> {
  const windowMs = rule.window_minutes * minuteMs;
  const to = new Date(now.getTime() - earlierBy * windowMs);
  const query: RecordSums = {
    workspaceId,
    step: "all",
    by: [],
    filter: rule.filters,
    countsByTurn: true,
    from: new Date(to.getTime() - windowMs),
    to,
    ...(!rule.condition.endsWith("_p95") && { withoutLatencies: true }),
  };
  const sums = recordSums(query, await coverOf(database, query));
  const { rows } = await sql<Record<"requests" | "failures" | "cost_usd" | "first_events" | "durations", string>>`
    select coalesce(sum(requests), 0)::text as requests, coalesce(sum(failures), 0)::text as failures,
      coalesce(sum(cost_usd), 0)::text as cost_usd, coalesce(sum(first_events), 0)::text as first_events,
      coalesce(sum(durations), 0)::text as durations
    from (${sums}) as sums`.execute(database);
  const row = rows[0];
  if (!row) throw new Error("sums without a row");
  return {
    requests: Number(row.requests),
    failures: Number(row.failures),
    cost: Number(row.cost_usd),
    firstMs: findPercentiles(row.first_events)?.p95,
    durationMs: findPercentiles(row.durations)?.p95,
  };
}

async function sumsFigure(database: Kysely<Database>, checked: Checked): Promise<CheckedFigure> {
  const { condition, threshold, min_requests: fewest } = checked.rule;
  const sums = await windowSums(database, checked);
  const hasEnough = sums.requests >= fewest;
  const above = (value: number | undefined): CheckedFigure => ({
    value,
    isMet: hasEnough && value !== undefined && value > threshold,
  });
  if (condition === "spend") return above(sums.cost);
  if (condition === "latency_p95") return above(sums.durationMs);
  if (condition === "first_token_p95") return above(sums.firstMs);
  if (condition === "error_rate") return above(sums.requests === 0 ? undefined : (100 * sums.failures) / sums.requests);
  const before = await windowSums(database, checked, 1);
  if (before.cost > 0) return above(100 * (sums.cost / before.cost - 1));
  return { value: undefined, isMet: hasEnough && sums.cost > 0 };
}

/** Checks whether a provider is down. The figure is the number of unanswered calls if no call was answered. */
async function providerFigure(database: Kysely<Database>, { workspaceId, rule, now }: Checked): Promise<CheckedFigure> {
  const from = new Date(now.getTime() - rule.window_minutes * minuteMs);
  const { provider = "", model } = rule.filters;
  const { calls, answered } = await callsOfProvider(database, { workspaceId, from, to: now }, provider, model);
  return { value: answered > 0 ? 0 : calls, isMet: answered === 0 && calls >= rule.min_requests };
}

interface Budget {
  readonly limit_usd: string | null;
  readonly limit_reset: string | null;
  readonly spent_usd: string;
}

async function budgetOf(
  database: Kysely<Database>,
  workspaceId: string,
  key: string | undefined,
): Promise<Budget | undefined> {
  if (key === undefined) return (await workspaceAccounts(database, [workspaceId]))[0];
  const spent: RawBuilder<string> = sql`
    (select coalesce(sum(cost_usd), 0) from key_days where key_hash = hash and day >= ${periodStart})`;
  const { rows } = await sql<Budget>`
    select limit_usd, limit_reset, ${spent} as spent_usd from api_keys
    where workspace_id = ${workspaceId} and hash = ${key} and revoked_at is null`.execute(database);
  return rows[0];
}

/**
 * Forecasts a budget. The figure is the expected spending at the budget's next reset, in percent of the budget, if
 * spending continues as in the time window.
 */
async function forecastFigure(database: Kysely<Database>, checked: Checked): Promise<CheckedFigure> {
  const { workspaceId, rule, now } = checked;
  const budget = await budgetOf(database, workspaceId, rule.filters.key);
  const end = periodEnd(budget?.limit_reset ?? null, now);
  const limit = Number(budget?.limit_usd ?? 0);
  if (!budget || limit === 0 || end === undefined) return { value: undefined, isMet: false };
  const { requests, cost } = await withRecordSums(database, (connected) => windowSums(connected, checked));
  const left = (end.getTime() - now.getTime()) / (rule.window_minutes * minuteMs);
  const value = (100 * (Number(budget.spent_usd) + cost * left)) / limit;
  return { value, isMet: requests >= rule.min_requests && value > rule.threshold };
}
