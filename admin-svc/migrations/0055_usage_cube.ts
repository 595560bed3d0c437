/**
 * The usage cube: sums of the ledger for every combination of its dimensions, by hour and by day, for reports with
 * filters or two dimensions. A worker fills it later, in portions; this migration copies nothing.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  // Columns are in the order of their alignment, which saves padding. They are named as in the ledger.
  await sql`
    create table usage_cube (
      -- Beginning of the hour or day in which the turns began.
      period timestamptz not null,
      -- Beginning of the hour or day in which the figures count: a call may begin after the period of its turn, and then keeps its hour.
      at timestamptz not null,
      input_tokens bigint not null,
      cached_tokens bigint not null,
      output_tokens bigint not null,
      reasoning_tokens bigint not null,
      workspace integer not null,
      key integer not null,
      door integer not null,
      operation integer not null,
      outcome integer,
      model integer,
      provider integer,
      task integer,
      guardrail integer,
      error_type integer,
      provider_error integer,
      requests integer not null,
      attempts integer not null,
      http_status smallint,
      -- Whether spending counts by turns, by calls or by both.
      by_turn boolean not null,
      by_call boolean not null,
      is_day boolean not null,
      cost_pico numeric not null,
      first_events numeric not null,
      durations numeric not null
    ) partition by list (is_day)`.execute(database);
  // The rows of an hour are mostly removed once its day has rows; in a separate partition, the rows of days stay close
  // together on disk.
  await sql`create table usage_cube_hours partition of usage_cube for values in (false)`.execute(database);
  await sql`create table usage_cube_days partition of usage_cube for values in (true)`.execute(database);
  await sql`create index usage_cube_period on usage_cube (period, workspace, key)`.execute(database);
  await sql`
    create table usage_cube_periods (
      is_day boolean not null,
      period timestamptz not null,
      -- Whether the cube has the rows: those of an hour are removed after the day if they are nearly as many as its turns.
      is_stored boolean not null,
      -- While an hour is filled, the cube has its turns up to this beginning, exclusive.
      filled_to timestamptz,
      -- While a day is filled, the cube has its keys below this number. In a stored period, rows from this key on are still to be merged or removed.
      next_key integer,
      -- In a day, these are the rows of its hours and the requests, as far as it is filled.
      hour_rows bigint not null default 0,
      requests bigint not null default 0,
      primary key (is_day, period)
    )`.execute(database);
  await sql`alter table ledger_progress add column is_cubed boolean not null default true`.execute(database);
  await noteEarlierBuilds(database);
  await openPeriods(database);
}

/**
 * Detects earlier builds, which update the sums without adding late rows to the cube. Later builds set
 * `sluice.fills_cube` in their transaction.
 */
async function noteEarlierBuilds(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function usage_cube_missed() returns trigger language plpgsql as $$
    begin
      new.is_cubed := false;
      return new;
    end $$`.execute(database);
  await sql`
    create trigger usage_cube_missed before update on ledger_progress for each row
    when (coalesce(current_setting('sluice.fills_cube', true), '') = '')
    execute function usage_cube_missed()`.execute(database);
}

/**
 * When a turn leaves the ledger, its hour and day must be filled again, and so must every hour of the day without rows,
 * because the day is made from its hours. An hour just being filled continues if it does not have the turn yet.
 */
async function openPeriods(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function open_usage_period() returns trigger language plpgsql as $$
    declare
      day timestamptz := date_bin('1 day', new.opened_at, 'epoch');
    begin
      delete from usage_cube_periods
      where is_day and period = day
        or not is_day and period = date_bin('1 hour', new.opened_at, 'epoch') and (filled_to is null or filled_to > new.opened_at)
        or not is_day and period >= day and period < day + interval '1 day' and not is_stored and filled_to is null;
      return null;
    end $$`.execute(database);
  await sql`
    create trigger ledger_moved after update of is_moved on ledger for each row when (new.is_moved and not old.is_moved)
    execute function open_usage_period()`.execute(database);
}
