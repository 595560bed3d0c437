/**
 * The ledger: one row for a turn that arrives whole, with its calls inside, in a partition for each day. `usage_records` and `turns` keep earlier records, and
 * turns whose parts arrive separately. The views `all_calls` and `all_turns` show both. Nothing is copied, so no table is locked for long.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await makeNames(database);
  await makeLedger(database);
  await makeIndexes(database);
  await makeDays(database);
  await makeProgress(database);
  await makeSingleCall(database);
  await sql`create view all_calls as ${callsBefore} union all ${singleCalls} union all ${listedCalls}`.execute(
    database,
  );
  await sql`create view all_turns as ${allTurns()}`.execute(database);
  await guardRecords(database);
  // An exporter of an earlier build does not know the ledger, and would move its cursor past the turns in it.
  await sql`alter table export_cursors rename to export_positions`.execute(database);
}

/** Texts that repeat, such as model names and key hashes, are replaced by numbers of this table. */
async function makeNames(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger_names (
      id integer generated always as identity (start with 1000) primary key,
      name text collate "C" not null unique,
      -- The name of a workspace or a process. A cast in a query could meet other names.
      identifier uuid generated always as (
        case when name ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then name::uuid end
      ) stored
    )`.execute(database);
  // The most frequent outcome and operation are left out of indexes, so their numbers must be fixed.
  await sql`insert into ledger_names (id, name) overriding system value values (1, 'completed'), (2, 'turn')`.execute(
    database,
  );
}

/**
 * A turn with a single call has the call's figures in its columns; other calls are listed in `calls`. Columns are in
 * the order of their alignment, which saves padding.
 */
async function makeLedger(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger (
      opened_at timestamptz not null,
      -- Number of the transaction that stored the row: a worker adds rows to the sums in this order.
      written bigint not null default pg_current_xact_id()::text::bigint,
      log_sequence bigint not null default nextval('ledger_log'),
      -- Picodollars paid by the key; null when the cost of the only call is unknown.
      cost_pico bigint,
      call_sequence bigint,
      turn_id uuid,
      workspace integer not null,
      key integer not null,
      boot integer,
      instance integer,
      door integer not null,
      operation integer not null,
      outcome integer not null,
      model integer,
      provider integer,
      upstream_model integer,
      service_tier integer,
      task integer,
      finish_reason integer,
      call_status integer,
      error_type integer,
      provider_error integer,
      guardrail integer,
      rule integer,
      duration_ms integer not null,
      first_ms integer,
      -- Milliseconds from the start of the turn to the start of the call.
      call_after_ms integer,
      call_ms integer,
      call_first_ms integer,
      input_tokens integer,
      cached_tokens integer,
      cache_write_tokens integer,
      output_tokens integer,
      reasoning_tokens integer,
      requests integer not null,
      attempts smallint not null,
      attempt smallint,
      last_attempt smallint not null,
      http_status smallint not null,
      call_http_status smallint,
      streamed boolean not null,
      is_estimated boolean not null,
      -- Whether the model was requested by this name.
      is_requested_model boolean not null,
      -- Whether the turn is in turns and usage_records now, because another part of it arrived.
      is_moved boolean not null default false,
      generation_id text collate "C" not null,
      request_id text collate "C" not null,
      requested_model text,
      provider_code text,
      "user" text,
      session_id text,
      trace_id text,
      calls jsonb
    ) partition by range (opened_at)`.execute(database);
}

const indexes: Readonly<Record<string, string>> = {
  request: "(request_id) where request_id <> ''",
  written: "(written)",
  sequence: "(workspace, log_sequence)",
  workspace: "(workspace, opened_at)",
  key: "(key, opened_at)",
  model: "(workspace, model, opened_at)",
  // A refused turn has no call, and its model is the requested one.
  requested: "(workspace, requested_model, opened_at) where model is null",
  failed: "(workspace, http_status, opened_at) where http_status <> 200",
  outcome: "(workspace, outcome, opened_at) where outcome <> 1",
  operation: "(workspace, operation, opened_at) where operation <> 2",
  user: '(workspace, "user", opened_at) where "user" is not null',
  session: "(session_id, opened_at) where session_id is not null",
  guardrail: "(guardrail, opened_at) where guardrail is not null",
};

async function makeIndexes(database: Kysely<unknown>): Promise<void> {
  for (const [name, definition] of Object.entries(indexes)) {
    await sql`create index ${sql.id(`ledger_${name}`)} on ledger ${sql.raw(definition)}`.execute(database);
  }
}

/** The runtime role creates no tables, so a function of the owner creates the partitions of yesterday and of the next days. */
async function makeDays(database: Kysely<unknown>): Promise<void> {
  await sql`create table ledger_days (day date primary key)`.execute(database);
  // Attaching a table does not wait for readers of the other partitions, as creating a partition does.
  await sql`
    create function open_ledger_day(missing date) returns void language plpgsql set search_path from current as $$
    declare
      partition text := 'ledger_' || to_char(missing, 'YYYYMMDD');
    begin
      execute format('create table %I (like ledger including defaults including indexes)', partition);
      -- Two batches with the same turn, stored at the same moment, cannot both have it. The table cannot have such an index without its time.
      execute format('create unique index %I on %I (generation_id, key) where not is_moved', partition || '_turn', partition);
      execute format('alter table ledger attach partition %I for values from (%L) to (%L)', partition,
        missing::timestamp at time zone 'UTC', (missing + 1)::timestamp at time zone 'UTC');
      insert into ledger_days values (missing);
    end $$`.execute(database);
  // The number of the advisory lock is arbitrary, but the same in all builds.
  await sql`
    create function open_ledger_days() returns void language plpgsql security definer set search_path from current as $$
    declare
      today date := (now() at time zone 'UTC')::date;
    begin
      perform pg_advisory_xact_lock(7340155305);
      perform open_ledger_day(each::date) from generate_series(today - 1, today + 3, interval '1 day') as each
      where each::date not in (select day from ledger_days);
    end $$`.execute(database);
  await sql`revoke all on function open_ledger_day(date), open_ledger_days() from public`.execute(database);
  await sql`select open_ledger_days()`.execute(database);
}

/**
 * Rows whose `written` is below `folded` are in the sums, and all rows of days before `from_day` are. `written` is a
 * transaction number plus `shift`, which grows when a database is restored into a server that has counted fewer
 * transactions.
 */
async function makeProgress(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table ledger_progress (
      id boolean primary key default true check (id),
      folded bigint not null,
      from_day date not null,
      shift bigint not null
    )`.execute(database);
  await sql`insert into ledger_progress (folded, from_day, shift) values (0, '-infinity', 0)`.execute(database);
}

/**
 * SQL function: whether a row has at most one call, stored in its columns, that began in the same hour as its turn.
 * Such rows are summed by their columns, all others through the views.
 */
async function makeSingleCall(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function is_single_call(calls jsonb, opened_at timestamptz, call_after_ms integer) returns boolean language sql stable as $$
      select calls is null and (call_after_ms is null
        or date_bin('1 hour', opened_at + call_after_ms * interval '1 ms', 'epoch') = date_bin('1 hour', opened_at, 'epoch'))
    $$`.execute(database);
}

const callColumns = [
  "turn_id",
  "attempt",
  "boot_id",
  "sequence",
  "instance",
  "workspace_id",
  "key_hash",
  "generation_id",
  "request_id",
  "opened_at",
  "duration_ms",
  "model",
  "provider",
  "upstream_model",
  "service_tier",
  "status",
  "http_status",
  "input_tokens",
  "cached_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "is_estimated",
  "cost_usd",
  "streamed",
  '"user"',
  "session_id",
  "door",
  "task",
  "operation",
  "payer",
  "first_ms",
  "finish_reason",
  "recorded_at",
  "in_turn",
  "is_noted",
].join(", ");

/**
 * The last columns of the view: whether the call is the last answering call of its turn, and the row's `written`, both
 * null in earlier records; a time within a day of the call; and `is_single_call` of the row, null in earlier records.
 */
const callsBefore = sql`
  select ${sql.raw(callColumns)}, null::boolean as ends_turn, null::bigint as written, opened_at as near,
    null::boolean as is_single from usage_records`;

/** Names are joined by the primary key, so Postgres skips the joins of columns that a query does not read. */
const named = (columns: readonly string[]) =>
  sql.raw(
    columns.map((column) => `left join ledger_names as n_${column} on n_${column}.id = ledger.${column}`).join(" "),
  );

const singleCalls = sql`
  select turn_id, attempt, n_boot.identifier, call_sequence, n_instance.name, n_workspace.identifier, n_key.name, generation_id, request_id,
    opened_at + call_after_ms * interval '1 ms', call_ms::bigint, n_model.name, n_provider.name, n_upstream_model.name, coalesce(n_service_tier.name, ''),
    n_call_status.name, call_http_status, input_tokens::bigint, cached_tokens::bigint, cache_write_tokens::bigint, output_tokens::bigint,
    reasoning_tokens::bigint, is_estimated, (cost_pico * 0.000000000001)::numeric(24, 12), streamed, "user", session_id, n_door.name, n_task.name,
    n_operation.name, 'key', call_first_ms::bigint, n_finish_reason.name, opened_at + duration_ms * interval '1 ms', true, true, last_attempt > 0, written, opened_at,
    is_single_call(calls, opened_at, call_after_ms)
  from ledger ${named(["boot", "instance", "workspace", "key", "model", "provider", "upstream_model", "service_tier", "call_status", "door", "task", "operation", "finish_reason"])}
  where attempts = 1 and calls is null and not is_moved`;

const listedCalls = sql`
  select call.turn_id, call.attempt, call.boot_id, call.sequence, call.instance, n_workspace.identifier, n_key.name, generation_id, call.request_id,
    call.opened_at, call.duration_ms, call.model, call.provider, call.upstream_model, call.service_tier, call.status, call.http_status, call.input_tokens,
    call.cached_tokens, call.cache_write_tokens, call.output_tokens, call.reasoning_tokens, call.is_estimated, call.cost_usd, call.streamed,
    case when has_user then ledger."user" end, case when has_session then ledger.session_id end, call.door, call.task, call.operation, call.payer,
    call.first_ms, call.finish_reason, ledger.opened_at + ledger.duration_ms * interval '1 ms', true, true, coalesce(call.ends_turn, false), written, ledger.opened_at, false
  from ledger ${named(["workspace", "key"])}
    cross join lateral jsonb_to_recordset(ledger.calls) as call (
      turn_id uuid, attempt smallint, boot_id uuid, sequence bigint, instance text, request_id text, opened_at timestamptz, duration_ms bigint, model text,
      provider text, upstream_model text, service_tier text, status text, http_status smallint, input_tokens bigint, cached_tokens bigint,
      cache_write_tokens bigint, output_tokens bigint, reasoning_tokens bigint, is_estimated boolean, cost_usd numeric(24, 12), streamed boolean,
      has_user boolean, has_session boolean, door text, task text, operation text, payer text, first_ms bigint, finish_reason text, ends_turn boolean
    )
  where calls is not null and not is_moved`;

const turnColumns = [
  "generation_id",
  "key_hash",
  "workspace_id",
  "request_id",
  "opened_at",
  "duration_ms",
  "first_ms",
  "door",
  "operation",
  "task",
  "requested_model",
  "model",
  "provider",
  "service_tier",
  "outcome",
  "http_status",
  "error_type",
  "provider_error",
  "provider_code",
  "guardrail_id",
  "rule",
  "finish_reason",
  "streamed",
  '"user"',
  "session_id",
  "trace_id",
  "requests",
  "attempts",
  "cost_usd",
  "input_tokens",
  "cached_tokens",
  "output_tokens",
  "reasoning_tokens",
  "is_estimated",
  "last_attempt",
  "is_recorded",
  "log_sequence",
].join(", ");

const turnsBefore = (more: string) =>
  sql`select ${sql.raw(turnColumns)}, null::bigint as written, null::boolean as is_single${sql.raw(more)} from turns`;

const wholeTurns = (more: string) => sql`
  select generation_id, n_key.name, n_workspace.identifier, request_id, opened_at, duration_ms::bigint, first_ms::bigint, n_door.name, n_operation.name,
    n_task.name, case when is_requested_model then n_model.name else requested_model end, coalesce(n_model.name, requested_model, ''),
    coalesce(n_provider.name, ''), coalesce(n_service_tier.name, ''), n_outcome.name, http_status, n_error_type.name, n_provider_error.name, provider_code,
    n_guardrail.name, n_rule.name, n_finish_reason.name, streamed, "user", session_id, trace_id, requests, attempts::integer,
    coalesce(cost_pico * 0.000000000001, 0)::numeric(24, 12), coalesce(input_tokens, 0)::bigint, coalesce(cached_tokens, 0)::bigint,
    coalesce(output_tokens, 0)::bigint, coalesce(reasoning_tokens, 0)::bigint, is_estimated, last_attempt, true, log_sequence, written, is_single_call(calls, opened_at, call_after_ms)${sql.raw(more)}
  from ledger ${named(["key", "workspace", "door", "operation", "task", "model", "provider", "service_tier", "outcome", "error_type", "provider_error", "guardrail", "rule", "finish_reason"])}
  where not is_moved`;

/** SQL for the view of all turns. @param more columns added by later migrations to both `turns` and `ledger` */
export function allTurns(more: readonly string[] = []) {
  const columns = more.map((column) => `, ${column}`).join("");
  return sql`${turnsBefore(columns)} union all ${wholeTurns(columns)}`;
}

/**
 * A trigger for an admin-svc of an earlier build, which does not look into the ledger: without it, a batch delivered
 * again would store its calls twice. Later builds set `sluice.reads_ledger` in the transaction storing a batch, and
 * look themselves.
 */
async function guardRecords(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function usage_records_known() returns trigger language plpgsql as $$
    begin
      if exists (
        select from ledger
        where generation_id = new.generation_id and not is_moved
          and opened_at between new.opened_at - interval '1 day' and new.opened_at + interval '1 day'
          and (turn_id = new.turn_id and attempt = new.attempt
            or calls @> jsonb_build_array(jsonb_build_object('turn_id', new.turn_id, 'attempt', new.attempt)))
      ) then
        return null;
      end if;
      return new;
    end $$`.execute(database);
  await sql`
    create trigger usage_records_known before insert on usage_records for each row
    when (coalesce(current_setting('sluice.reads_ledger', true), '') = '')
    execute function usage_records_known()`.execute(database);
}
