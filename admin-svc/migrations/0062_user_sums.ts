/**
 * Sums of end users follow the other sums later: a worker adds them for whole days or for many turns at once, by hour only for the most expensive ones of a day.
 * Nothing is copied here.
 */
import { type Kysely, sql } from "kysely";

export async function up(database: Kysely<unknown>): Promise<void> {
  await sql`
    create table user_sums_progress (
      id boolean primary key default true check (id),
      -- The sums of end users have turns that began before this time, as far as other sums have them.
      summed_until timestamptz not null,
      -- When an earlier build last added to the sums.
      earlier_at timestamptz
    )`.execute(database);
  await sql`
    create table user_sums_spans (
      -- Rows of the ledger with these numbers are in the sums of end users by hour and by day; the end is not included.
      since bigint primary key,
      until bigint not null
    )`.execute(database);
  await sql`
    create table user_hours (
      workspace_id uuid not null,
      -- Beginning of the day in which the turns began.
      day timestamptz not null,
      value text collate "C" not null,
      -- Whether the sums by hour have the turns of this end user.
      is_stored boolean not null,
      primary key (workspace_id, day, value)
    )`.execute(database);
  await sql`create index user_hours_waiting on user_hours (day, workspace_id) where not is_stored`.execute(database);
  // The trigger locks the progress until all of it is written.
  await noteEarlierBuilds(database);
  // The ledger takes turns of today and yesterday.
  await sql`
    insert into user_sums_progress (summed_until, earlier_at)
    select date_bin('1 day', now(), 'epoch') - interval '1 day', case when folded > 0 then now() end from ledger_progress`.execute(
    database,
  );
  await sql`insert into user_sums_spans select 0, folded from ledger_progress where folded > 0`.execute(database);
}

/** An earlier build adds end users with all other sums. Later builds set `sluice.sums_users` in their transaction. */
async function noteEarlierBuilds(database: Kysely<unknown>): Promise<void> {
  await sql`
    create function note_summed_users(first bigint, beyond bigint) returns void language plpgsql as $$
    begin
      update user_sums_spans set until = beyond where until = first;
      if not found then
        insert into user_sums_spans values (first, beyond);
      end if;
    end $$`.execute(database);
  await sql`
    create function users_summed_earlier() returns trigger language plpgsql as $$
    begin
      perform note_summed_users(old.folded, new.folded);
      update user_sums_progress set earlier_at = now();
      return null;
    end $$`.execute(database);
  await sql`
    create trigger users_summed_earlier after update on ledger_progress for each row
    when (new.folded > old.folded and coalesce(current_setting('sluice.sums_users', true), '') = '')
    execute function users_summed_earlier()`.execute(database);
}
