/** Counts calls by provider and model, and their outcomes. */
import { create } from "@bufbuild/protobuf";
import { healthQuery, maxHealthDays } from "@sluice/proto/contract/records/usage-health.js";
import {
  type CalledModel,
  CalledModelSchema,
  FailureCountSchema,
  type GetUsageHealthRequest,
  type GetUsageHealthResponse,
  GetUsageHealthResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { invalid, throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../database.ts";
import { numberOf } from "./names.ts";
import { findPercentiles } from "./percentiles.ts";
import { buckets, latencies, requestRefusals } from "./row-figures.ts";
import { toPercentiles } from "./series-answer.ts";

const dayMs = 86_400_000;

/** The query, with the field names of the HTTP interface. */
export interface HealthQuery {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

interface Period {
  readonly workspaceId: string;
  readonly from: Date;
  readonly to: Date;
  /** The only calls to read, without their latencies; undefined model means all models. */
  readonly only?: { readonly provider: string; readonly model: string | undefined };
}

/** @throws Fault INVALID_REQUEST */
export async function getUsageHealth(
  database: Kysely<Database>,
  workspaceId: string,
  request: GetUsageHealthRequest,
): Promise<GetUsageHealthResponse> {
  const query: HealthQuery = { from: request.from || undefined, to: request.to || undefined };
  throwProblems((problems) => healthQuery.check(query, "", problems));
  const to = query.to === undefined ? Date.now() : Date.parse(query.to);
  const from = query.from === undefined ? to - dayMs : Date.parse(query.from);
  if (from >= to) throw invalid("from", "must be before to");
  if (to - from > maxHealthDays * dayMs) throw invalid("from", `must be at most ${maxHealthDays} days before to`);
  const rows = await calledModels(database, { workspaceId, from: new Date(from), to: new Date(to) });
  return create(GetUsageHealthResponseSchema, {
    models: toCalledModels(rows),
    fromMs: BigInt(from),
    toMs: BigInt(to),
  });
}

interface HealthRow {
  readonly provider: string;
  readonly model: string;
  /** Kind of failure; null in the row that sums all calls of a model. */
  readonly error: string | null;
  readonly calls: string;
  readonly answered: string;
  readonly failures: string;
  readonly fallbacks: string;
  readonly first_events: string;
  readonly durations: string;
}

/** Counts calls: one row for each model, and one for each kind of failure of a model. */
async function calledModels(database: Kysely<Database>, period: Period): Promise<readonly HealthRow[]> {
  const parts = [singleCalls(period), listedCalls(period), earlierCalls(period)];
  const { rows } = await sql<HealthRow>`
    with calls as materialized (${sql.join(parts, sql` union all `)}),
    judged as (
      select calls.*, status in ('completed', 'incomplete') as is_answered, ${failure} as error from calls
    )
    select provider, model, case when grouping(error) = 0 then error end as error, sum(turns) as calls,
      coalesce(sum(turns) filter (where is_answered), 0) as answered, coalesce(sum(turns) filter (where error is not null), 0) as failures,
      coalesce(sum(turns) filter (where error is not null and is_followed), 0) as fallbacks, ${latencies(sql`is_answered`)}
    from judged group by grouping sets ((provider, model), (provider, model, error))
    having grouping(error) = 1 or error is not null`.execute(database);
  return rows;
}

/** Counts calls to a provider, and how many were answered. @param model the only model; undefined for all models */
export async function callsOfProvider(
  database: Kysely<Database>,
  period: Period,
  provider: string,
  model: string | undefined,
): Promise<{ readonly calls: number; readonly answered: number }> {
  const rows = (await calledModels(database, { ...period, only: { provider, model } })).filter(
    ({ error }) => error === null,
  );
  return {
    calls: rows.reduce((sum, { calls }) => sum + Number(calls), 0),
    answered: rows.reduce((sum, { answered }) => sum + Number(answered), 0),
  };
}

/**
 * SQL for the kind of a provider's failure. The last call of a turn has the turn's error; it counts as no failure when
 * Sluice stopped the turn. An earlier call counts as failed unless the provider refused the request itself.
 */
const failure = sql`
  case when status = 'failed' then
    case when is_followed then case when http_status not in ${requestRefusals} then 'status_' || http_status end
      when turn_error not in ('http_400', 'http_413', 'http_422') then turn_error end
  end`;

const figures = ({ only }: Period): RawBuilder<unknown> =>
  only ? sql`null::numeric as first_bucket, null::numeric as end_bucket` : buckets;

/** @param stored the value in the columns of a name */
function isChosen({ only }: Period, stored: (name: string) => RawBuilder<unknown>): RawBuilder<unknown> {
  if (!only) return sql`true`;
  const ofModel = only.model === undefined ? sql`true` : sql`model = ${stored(only.model)}`;
  return sql`provider = ${stored(only.provider)} and ${ofModel}`;
}

const asText = (name: string): RawBuilder<unknown> => sql`${name}::text`;

const group = sql`group by 1, 2, 3, 4, 5, 6, 7, 8`;

/** Turns with a single call, whose figures are in columns of the ledger. Names are looked up once for each sum. */
function singleCalls(period: Period): RawBuilder<unknown> {
  const { workspaceId, from, to } = period;
  return sql`
    select n_provider.name as provider, n_model.name as model, n_status.name as status, http_status, n_error.name as turn_error, is_followed,
      first_bucket, end_bucket, turns
    from (
      select provider, model, call_status, call_http_status as http_status, provider_error, false as is_followed, ${figures(period)}, count(*) as turns
      from (
        select provider, model, call_status, call_http_status, provider_error, call_first_ms as first_ms, call_ms as duration_ms from ledger
        where workspace = ${numberOf(workspaceId)} and not is_moved and attempts = 1 and calls is null
          and opened_at >= ${new Date(from.getTime() - dayMs)} and opened_at < ${to}
          and ${isChosen(period, numberOf)}
          and opened_at + call_after_ms * interval '1 ms' >= ${from} and opened_at + call_after_ms * interval '1 ms' < ${to}
      ) as singles ${group}
    ) as sums
      join ledger_names as n_provider on n_provider.id = provider
      join ledger_names as n_model on n_model.id = model
      join ledger_names as n_status on n_status.id = call_status
      left join ledger_names as n_error on n_error.id = provider_error`;
}

const followed = sql`attempt < last_attempt`;

/** Calls of turns with several calls, from the column `calls` of the ledger. */
function listedCalls(period: Period): RawBuilder<unknown> {
  const { workspaceId, from, to } = period;
  return sql`
    select provider, model, status, http_status, turn_error, ${followed} as is_followed, ${figures(period)}, count(*) as turns
    from (
      select call.*, last_attempt, (select name from ledger_names where id = provider_error) as turn_error
      from ledger cross join lateral jsonb_to_recordset(ledger.calls) as call (
        opened_at timestamptz, attempt smallint, provider text, model text, status text, http_status smallint, payer text, first_ms bigint, duration_ms bigint
      )
      where workspace = ${numberOf(workspaceId)} and not is_moved and ledger.calls is not null
        and ledger.opened_at >= ${new Date(from.getTime() - dayMs)} and ledger.opened_at < ${new Date(to.getTime() + dayMs)}
    ) as listed where payer = 'key' and opened_at >= ${from} and opened_at < ${to} and ${isChosen(period, asText)} ${group}`;
}

/** Calls outside of the ledger: of turns that arrived in parts, or were moved out of it. */
function earlierCalls(period: Period): RawBuilder<unknown> {
  const { workspaceId, from, to } = period;
  return sql`
    select provider, model, status, http_status, turn_error, coalesce(${followed}, false) as is_followed, ${figures(period)}, count(*) as turns
    from (
      select record.provider, record.model, record.status, record.http_status, record.first_ms, record.duration_ms, record.attempt,
        turns.last_attempt, turns.provider_error as turn_error
      from usage_records as record left join turns using (generation_id, key_hash)
      where record.workspace_id = ${workspaceId} and record.payer = 'key' and record.opened_at >= ${from} and record.opened_at < ${to}
    ) as records where ${isChosen(period, asText)} ${group}`;
}

function toCalledModels(rows: readonly HealthRow[]): CalledModel[] {
  const failures = rows.filter(({ error }) => error !== null);
  const models = rows
    .filter(({ error }) => error === null)
    .map((row) =>
      toCalledModel(
        row,
        failures.filter(({ provider, model }) => provider === row.provider && model === row.model),
      ),
    );
  return models.toSorted(
    (one, other) =>
      Number(other.failures - one.failures) ||
      Number(other.calls - one.calls) ||
      compare(one.provider, other.provider) ||
      compare(one.model, other.model),
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

function toCalledModel(row: HealthRow, errors: readonly HealthRow[]): CalledModel {
  const [first, duration] = [findPercentiles(row.first_events), findPercentiles(row.durations)];
  const failures = errors.map(({ error, failures: calls }) =>
    create(FailureCountSchema, { error: error ?? "", calls: BigInt(calls) }),
  );
  return create(CalledModelSchema, {
    provider: row.provider,
    model: row.model,
    calls: BigInt(row.calls),
    answered: BigInt(row.answered),
    failures: BigInt(row.failures),
    fallbacks: BigInt(row.fallbacks),
    errors: failures.toSorted((one, other) => Number(other.calls - one.calls) || compare(one.error, other.error)),
    ...(first && { firstMs: toPercentiles(first) }),
    ...(duration && { durationMs: toPercentiles(duration) }),
  });
}
