/**
 * Sums for reports, read instead of records: activity by day, and each key's total spending. A trigger records the
 * changes of each batch, even of an earlier build. A worker adds older records later, in portions, so no table of
 * records is locked for longer than the change of its columns takes.
 */
import { type Kysely, sql } from "kysely";

const columns = sql.raw(`
  workspace_id uuid not null,
  key_hash text collate "C" not null,
  day date not null,
  model text not null,
  provider text not null,
  service_tier text not null,
  operation text not null,
  door text not null,
  task text not null,
  cost_usd numeric(24, 12),
  calls bigint not null,
  requests bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null`);

export async function up(database: Kysely<unknown>): Promise<void> {
  // False for records stored before this migration, which the trigger has not seen.
  await sql`alter table usage_records add column is_noted boolean not null default false`.execute(database);
  await sql`alter table usage_records alter column is_noted set default true`.execute(database);
  // The row with an empty key hash has the sums of all keys. Free space on each page allows updates on the same page.
  await sql`
    create table activity_days (${columns},
      primary key (workspace_id, key_hash, day, model, provider, service_tier, operation, door, task)
    ) with (fillfactor = 80)`.execute(database);
  // The table has no index, because the worker takes rows in any order.
  await sql`
    create table activity_changes (${columns})
    with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)`.execute(database);
  await sql`
    create table key_totals (
      key_hash text collate "C" primary key,
      workspace_id uuid not null,
      cost_usd numeric(24, 12) not null,
      last_used_at timestamptz
    ) with (fillfactor = 80)`.execute(database);
  await sql`create index key_totals_spent on key_totals (workspace_id, cost_usd)`.execute(database);
  // Unfinished conversions of older records; records from `reached` on are done.
  await sql`
    create table backfills (
      name text primary key,
      reached timestamptz not null default 'infinity'
    )`.execute(database);
  await sql`
    insert into backfills (name) select 'turns' where exists (select from usage_records where not in_turn)
    union all select 'activity' where exists (select from usage_records)
    union all select 'key_totals' where exists (select from api_keys)`.execute(database);
  await noteCalls(database);
  await noteKeys(database);
}

/**
 * A turn counts as a request in the row of its last answering call, so a later call moves it from the row of an earlier
 * one. The total of a key starts with the sums of its days; each batch is added after its records are stored.
 */
async function noteCalls(database: Kysely<unknown>): Promise<void> {
  const answers = (table: string) => sql.raw(`${table}.payer = 'key' and ${table}.operation in ('turn', 'embed')`);
  const unit = (table: string) =>
    sql.raw(
      ["workspace_id", "key_hash", "opened_at", "model", "provider", "service_tier", "operation", "door", "task"]
        .map((column) => `${table}.${column}`)
        .join(", "),
    );
  await sql`
    create function note_activity() returns trigger language plpgsql as $$
    begin
      insert into activity_changes
      with newest as (
        select turn_id, max(attempt) as attempt, array_agg(attempt) as attempts from added where ${answers("added")} group by 1
      ),
      earlier as (
        select known.*, newest.attempt as newest from newest cross join lateral (
          select * from usage_records
          where usage_records.turn_id = newest.turn_id and usage_records.attempt <> all (newest.attempts) and ${answers("usage_records")}
          order by usage_records.attempt desc limit 1
        ) as known
      ),
      counted as (
        select ${unit("added")}, added.cost_usd, 1 as calls,
          case when added.attempt = newest.attempt and ${answers("added")} and newest.attempt > coalesce(earlier.attempt, -1) then 1 else 0 end as requests,
          added.input_tokens, added.output_tokens, added.reasoning_tokens
        from added left join newest on newest.turn_id = added.turn_id left join earlier on earlier.turn_id = added.turn_id
        where added.payer = 'key'
        union all
        select ${unit("earlier")}, null, 0, -1, 0, 0, 0 from earlier where newest > attempt
      )
      select workspace_id, key_hash, (opened_at at time zone 'UTC')::date, model, provider, coalesce(nullif(service_tier, ''), 'default'), operation, door,
        coalesce(task, ''), sum(cost_usd), sum(calls), sum(requests), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
        coalesce(sum(reasoning_tokens), 0)
      from counted group by 1, 2, 3, 4, 5, 6, 7, 8, 9;
      insert into key_totals
      select key_hash, workspace_id, (select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = used.key_hash), null
      from (select distinct on (key_hash) key_hash, workspace_id from added) as used
      where not exists (select from key_totals where key_totals.key_hash = used.key_hash)
      order by key_hash on conflict (key_hash) do nothing;
      insert into key_totals as totals
      select key_hash, min(workspace_id::text)::uuid, coalesce(sum(cost_usd) filter (where payer = 'key'), 0), max(opened_at)
      from added group by key_hash order by key_hash
      on conflict (key_hash) do update
        set cost_usd = totals.cost_usd + excluded.cost_usd, last_used_at = greatest(totals.last_used_at, excluded.last_used_at);
      return null;
    end $$`.execute(database);
  await sql`
    create trigger usage_records_noted after insert on usage_records referencing new table as added
    for each statement execute function note_activity()`.execute(database);
}

/** A key that was never used has a total too, so a sort by totals includes it. */
async function noteKeys(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function total_key() returns trigger language plpgsql as $$
    begin
      insert into key_totals values (new.hash, new.workspace_id, 0, null) on conflict (key_hash) do nothing;
      return null;
    end $$`.execute(database);
  await sql`
    create trigger api_keys_total after insert on api_keys for each row execute function total_key()`.execute(database);
}
