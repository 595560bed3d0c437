/**
 * SQL that stores rows of turns. Calls are added to the row of their turn in any order of arrival. The outcome comes
 * from the record of the turn; until that arrives, from the turn's last call.
 */
import type { FilterActionWord } from "@sluice/proto/lib/policy/guardrail-words.js";
import { type RawBuilder, sql } from "kysely";
import type { RecordedTags } from "../tables/usage.ts";
import { answersRequest } from "./usage-sums.ts";

/** A record of a turn, with the columns of `turns` and its sequence number within its process. */
export interface NewTurnRecord {
  readonly generation_id: string;
  readonly key_hash: string;
  readonly workspace_id: string;
  readonly boot_id: string;
  /** Sequence number as text, because JSON numbers cannot hold all 64-bit integers. */
  readonly sequence: string;
  readonly instance: string;
  readonly request_id: string;
  readonly opened_at: Date;
  readonly duration_ms: number;
  readonly first_ms: number | null;
  readonly door: string;
  readonly operation: string;
  readonly requested_model: string | null;
  readonly outcome: string;
  readonly http_status: number;
  readonly error_type: string | null;
  readonly provider_error: string | null;
  readonly provider_code: string | null;
  readonly guardrail_id: string | null;
  readonly rule: string | null;
  readonly streamed: boolean;
  readonly user: string | null;
  readonly session_id: string | null;
  readonly trace_id: string | null;
  readonly requests: number;
  readonly tags: RecordedTags | null;
  /** Action of the guardrail; null without a guardrail, or when the record lacks it. Not a column of `turns`. */
  readonly guardrail_action: FilterActionWord | null;
}

/** Columns set by the record of a turn; until it arrives, by the turn's last call. */
const stated = [
  "request_id",
  "door",
  "operation",
  "requested_model",
  "outcome",
  "http_status",
  "error_type",
  "provider_error",
  "provider_code",
  "guardrail_id",
  "rule",
  "streamed",
  '"user"',
  "session_id",
  "trace_id",
  "requests",
  "tags",
];
/** Columns set by the last call. */
const called = ["model", "provider", "service_tier", "task", "finish_reason"];
/** Columns that are sums over the calls. */
const summed = ["attempts", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

const keys = ["generation_id", "key_hash", "workspace_id"];
const times = ["opened_at", "duration_ms", "first_ms"];
/** Columns of `turns` and of the view `all_turns`. */
export const turnColumns: readonly string[] = [
  ...keys,
  ...times,
  ...stated,
  ...called,
  ...summed,
  "is_estimated",
  "last_attempt",
  "is_recorded",
  "log_sequence",
];

const isLater = "excluded.attempts > 0 and excluded.last_attempt >= turns.last_attempt";
/** SQL for the milliseconds from the first stored call to a later one. */
const delay = "greatest(0, extract(epoch from excluded.opened_at - turns.opened_at) * 1000)::bigint";

const isAnswered = (row: string): string => `${row}.is_recorded and ${row}.outcome in ('completed', 'incomplete')`;
/**
 * SQL condition: whether a new record of a turn replaces the stored one. When a gateway loses the connection to a
 * process before the turn is acknowledged, it sends the turn to another process. If both record the turn, the record of
 * the process that answered counts, because its answer reached the client.
 */
const decides = `excluded.is_recorded and (${isAnswered("excluded")} or not (${isAnswered("turns")}))`;

/**
 * SQL for a column that the turn's record sets, in any order of arrival; without a record, the value comes from the
 * calls.
 */
const fromRecord = (column: string, calls: string): string =>
  `${column} = case when ${decides} then excluded.${column} when turns.is_recorded then turns.${column} else ${calls} end`;

const assignments = [
  fromRecord("opened_at", "least(turns.opened_at, excluded.opened_at)"),
  fromRecord("duration_ms", `greatest(turns.duration_ms, excluded.duration_ms + ${delay})`),
  fromRecord("first_ms", `case when ${isLater} then excluded.first_ms + ${delay} else turns.first_ms end`),
  ...stated.map((column) =>
    fromRecord(column, `case when ${isLater} then excluded.${column} else turns.${column} end`),
  ),
  ...called.map((column) => `${column} = case when ${isLater} then excluded.${column} else turns.${column} end`),
  ...summed.map((column) => `${column} = turns.${column} + excluded.${column}`),
  "is_estimated = turns.is_estimated or excluded.is_estimated",
  "last_attempt = greatest(turns.last_attempt, excluded.last_attempt)",
  "is_recorded = turns.is_recorded or excluded.is_recorded",
  "log_sequence = case when excluded.is_recorded or turns.log_sequence is not null then nextval('ledger_log') end",
];

/**
 * Common table expressions storing turns, for use after `stored`, the new calls. The caller must hold the locks of
 * the processes, and leave out records that were stored before.
 * @param recordsJson list of NewTurnRecord in JSON
 */
export const turnExpressions = (recordsJson: string): RawBuilder<unknown> => sql`
  arrived as (
    select sent.*, "user" as end_user from json_to_recordset(${recordsJson}::json) as sent (
      generation_id text collate "C", key_hash text collate "C", workspace_id uuid, boot_id uuid, sequence bigint, instance text, request_id text collate "C",
      opened_at timestamptz, duration_ms bigint, first_ms bigint, door text, operation text, requested_model text, outcome text,
      http_status smallint, error_type text, provider_error text, provider_code text, guardrail_id text, rule text, streamed boolean, "user" text, session_id text, trace_id text,
      requests integer, tags jsonb
    )
  ),
  recorded as (
    select distinct on (generation_id, key_hash) * from arrived order by generation_id, key_hash, sequence desc
  ),
  called as (
    select distinct on (generation_id, key_hash) *, case when ${answersRequest("stored")} then attempt else 0 end as last_attempt,
      (count(*) over its_turn)::integer as attempts, coalesce(sum(cost_usd) over its_turn, 0) as spent_usd,
      coalesce(sum(input_tokens) over its_turn, 0)::bigint as inputs, coalesce(sum(cached_tokens) over its_turn, 0)::bigint as cached,
      coalesce(sum(output_tokens) over its_turn, 0)::bigint as outputs, coalesce(sum(reasoning_tokens) over its_turn, 0)::bigint as reasoning,
      bool_or(is_estimated) over its_turn as any_estimated, min(opened_at) over its_turn as first_at,
      max(opened_at + duration_ms * interval '1 ms') over its_turn as last_at
    from stored where payer = 'key'
    window its_turn as (partition by generation_id, key_hash)
    order by generation_id, key_hash, ${answersRequest("stored")} desc, attempt desc, opened_at desc
  ),
  changes as (
    select
      coalesce(r.generation_id, c.generation_id) as generation_id, coalesce(r.key_hash, c.key_hash) as key_hash,
      coalesce(r.workspace_id, c.workspace_id) as workspace_id, coalesce(r.request_id, c.request_id) as request_id,
      coalesce(r.opened_at, c.first_at) as opened_at,
      coalesce(r.duration_ms, greatest(0, extract(epoch from c.last_at - c.first_at) * 1000)::bigint) as duration_ms,
      case when r.sequence is not null then r.first_ms
        else (extract(epoch from c.opened_at - c.first_at) * 1000)::bigint + c.first_ms end as first_ms,
      coalesce(r.door, c.door) as door, coalesce(r.operation, c.operation) as operation, r.requested_model,
      coalesce(r.outcome, c.status) as outcome, coalesce(r.http_status, c.http_status) as http_status, r.error_type,
      r.provider_error, r.provider_code, r.guardrail_id, r.rule,
      coalesce(r.streamed, c.streamed) as streamed,
      case when r.sequence is not null then r.end_user else c."user" end as "user",
      case when r.sequence is not null then r.session_id else c.session_id end as session_id, r.trace_id,
      coalesce(r.requests, 1) as requests, case when r.sequence is not null then r.tags else c.tags end as tags,
      coalesce(c.model, r.requested_model, '') as model, coalesce(c.provider, '') as provider, coalesce(c.service_tier, '') as service_tier,
      c.task, c.finish_reason,
      coalesce(c.attempts, 0) as attempts, coalesce(c.spent_usd, 0) as cost_usd, coalesce(c.inputs, 0) as input_tokens,
      coalesce(c.cached, 0) as cached_tokens, coalesce(c.outputs, 0) as output_tokens, coalesce(c.reasoning, 0) as reasoning_tokens,
      coalesce(c.any_estimated, false) as is_estimated, coalesce(c.last_attempt, 0) as last_attempt, r.sequence is not null as is_recorded,
      case when r.sequence is not null then nextval('ledger_log') end as log_sequence
    from recorded as r full join called as c on c.generation_id = r.generation_id and c.key_hash = r.key_hash
    order by r.sequence
  ),
  told as (
    insert into turns (${sql.raw(turnColumns.join(", "))})
    select ${sql.raw(turnColumns.join(", "))} from changes order by generation_id, key_hash
    on conflict (generation_id, key_hash) do update set ${sql.raw(assignments.join(", "))}
  )`;
