/**
 * Sums of end users are updated later than the other sums, many turns at once; `ledger_progress` contains the row
 * numbers that they lack. Nothing is copied here. An earlier build updates them together with all other sums and leaves
 * these columns unchanged, so its rows are never listed as missing.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    alter table ledger_progress
      -- Numbers of rows that are in all sums but those of end users.
      add column unsummed_users int8multirange not null default '{}',
      -- None of these rows began on an earlier day.
      add column users_from_day date not null default '-infinity',
      -- When an earlier build last added to the sums.
      add column earlier_at timestamptz`.execute(database);
  await noteEarlierBuilds(database);
  // Without this setting, the trigger of the cube takes the update for one of an earlier build.
  await sql`
    with later as materialized (select set_config('sluice.fills_cube', 'on', true))
    update ledger_progress set users_from_day = from_day, earlier_at = case when folded > 0 then now() end from later`.execute(
    database,
  );
  await sumMovedUsers(database);
}

/** Detects earlier builds; later builds set `sluice.leaves_users` in their transaction. */
async function noteEarlierBuilds(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function users_summed_earlier() returns trigger language plpgsql as $$
    begin
      new.earlier_at := now();
      return new;
    end $$`.execute(database);
  await sql`
    create trigger users_summed_earlier before update on ledger_progress for each row
    when (new.folded > old.folded and coalesce(current_setting('sluice.leaves_users', true), '') = '')
    execute function users_summed_earlier()`.execute(database);
}

/**
 * When a turn leaves the ledger, it is subtracted from all sums, including those of end users. If these lack it, it is
 * added to them first, even when an earlier build moves the turn. The transaction that moves it holds the lock of the
 * sums.
 */
async function sumMovedUsers(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function sum_moved_user(moved ledger) returns void language sql as $$
      with turn as (
        select (select identifier from ledger_names where id = moved.workspace) as workspace_id,
          (select name from ledger_names where id = moved.outcome) as outcome
      ),
      parts as (
        select date_bin('1 hour', moved.opened_at, 'epoch') as at, coalesce(moved."user", '') as value, moved.requests as requests,
          case when outcome in ('failed', 'lost', 'refused') then moved.requests else 0 end as failures, 0 as attempts, 0::numeric as cost_usd,
          0::bigint as input_tokens, 0::bigint as cached_tokens, 0::bigint as output_tokens, 0::bigint as reasoning_tokens,
          case when outcome in ('completed', 'incomplete') then coalesce(latency_count(moved.first_ms), 0) else 0 end as first_events,
          case when outcome in ('completed', 'incomplete') then latency_count(moved.duration_ms) else 0 end as durations
        from turn
        union all
        select date_bin('1 hour', moved.opened_at + moved.call_after_ms * interval '1 ms', 'epoch'), coalesce(moved."user", ''), 0, 0, 1,
          coalesce(moved.cost_pico, 0) * 0.000000000001, moved.input_tokens, moved.cached_tokens, moved.output_tokens, moved.reasoning_tokens, 0, 0
        where moved.attempts = 1 and moved.calls is null
        union all
        select date_bin('1 hour', call.opened_at, 'epoch'), case when has_user then coalesce(moved."user", '') else '' end, 0, 0, 1,
          coalesce(cost_usd, 0), call.input_tokens, call.cached_tokens, call.output_tokens, call.reasoning_tokens, 0, 0
        from jsonb_to_recordset(moved.calls) as call (
          opened_at timestamptz, payer text, has_user boolean, cost_usd numeric(24, 12), input_tokens bigint, cached_tokens bigint, output_tokens bigint,
          reasoning_tokens bigint
        )
        where moved.calls is not null and payer = 'key'
      ),
      steps as (
        select 'hour' as step, * from parts
        union all select 'day', date_bin('1 day', at, 'epoch'), value, requests, failures, attempts, cost_usd, input_tokens, cached_tokens, output_tokens,
          reasoning_tokens, first_events, durations
        from parts
      )
      insert into usage_sums (workspace_id, dimension, step, at, value, requests, failures, attempts, cost_usd, input_tokens, cached_tokens, output_tokens,
        reasoning_tokens, first_events, durations)
      select workspace_id, 'user', step, at, value, sum(requests), sum(failures), sum(attempts), sum(cost_usd), coalesce(sum(input_tokens), 0),
        coalesce(sum(cached_tokens), 0), coalesce(sum(output_tokens), 0), coalesce(sum(reasoning_tokens), 0), sum(first_events), sum(durations)
      from turn cross join steps group by 1, 3, 4, 5 order by 3, 4, 5
      on conflict (workspace_id, dimension, step, at, value) do update
        set requests = usage_sums.requests + excluded.requests, failures = usage_sums.failures + excluded.failures,
          attempts = usage_sums.attempts + excluded.attempts, cost_usd = usage_sums.cost_usd + excluded.cost_usd,
          input_tokens = usage_sums.input_tokens + excluded.input_tokens, cached_tokens = usage_sums.cached_tokens + excluded.cached_tokens,
          output_tokens = usage_sums.output_tokens + excluded.output_tokens, reasoning_tokens = usage_sums.reasoning_tokens + excluded.reasoning_tokens,
          first_events = usage_sums.first_events + excluded.first_events, durations = usage_sums.durations + excluded.durations
    $$`.execute(database);
  // The existing trigger that reopens periods of the cube is extended: creating a new trigger would wait for all
  // writers of the ledger.
  await sql`
    create or replace function open_usage_period() returns trigger language plpgsql as $$
    declare
      day timestamptz := date_bin('1 day', new.opened_at, 'epoch');
    begin
      if exists (select from ledger_progress where unsummed_users @> old.written) then
        perform sum_moved_user(old);
      end if;
      delete from usage_cube_periods
      where is_day and period = day
        or not is_day and period = date_bin('1 hour', new.opened_at, 'epoch') and (filled_to is null or filled_to > new.opened_at)
        or not is_day and period >= day and period < day + interval '1 day' and not is_stored and filled_to is null;
      return null;
    end $$`.execute(database);
}
