/** Checks the sums of tag budgets against the records of calls, and erases tag values from both. */
import { eachValue } from "@sluice/proto/contract/records/tag-budgets.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import { keptDays } from "./tag-accounts.ts";

/**
 * SQL for paid calls by their tags, as rows of `workspace_id`, `name`, `value`, `day` and `cost_usd`. In the ledger, a
 * call has the tags of its turn.
 * @param of a condition on `turn`, which is a turn of the ledger or a single call outside of it
 * @param near a condition on `call.near`, the time of the turn in the ledger; without it, a join reads every partition
 */
const taggedCalls = (of: RawBuilder<unknown>, near: RawBuilder<unknown> = sql`true`): RawBuilder<unknown> => sql`
  select workspace_id, name, value, (opened_at at time zone 'UTC')::date as day, cost_usd
  from (
    select turn.workspace_id, turn.opened_at, turn.cost_usd, turn.tags from usage_records as turn
    where turn.payer = 'key' and turn.cost_usd <> 0 and turn.tags is not null and ${of}
    union all
    select call.workspace_id, call.opened_at, call.cost_usd, turn.tags
    from all_turns as turn join all_calls as call using (generation_id, key_hash, written)
    where call.payer = 'key' and call.cost_usd <> 0 and turn.tags is not null and ${of} and ${near}
  ) as paid cross join lateral jsonb_each_text(tags) as tag (name, value)`;

/**
 * Time for which a batch being stored, or a process with a different clock, may still use the budget entries from
 * before a change.
 */
const editMargin = sql`interval '1 hour'`;

/** A sum of a tag that does not match the records. */
export interface WrongTagSum {
  /** Id of the workspace, followed by the tag (`name=value`) or its name. */
  readonly owner: string;
  /** A day in UTC such as 2026-11-21. */
  readonly day: string;
  /** The stored sum, and the sum of the records, in USD as decimals. */
  readonly summedUsd: string;
  readonly recordedUsd: string;
}

/**
 * Finds sums by tag and day that do not match the records. The sum of a value is at most the cost of its calls, because
 * the shared account may have paid for some. All sums of a tag together are at most the cost of its calls. On days that
 * began after the last change of the budget entries, they equal the cost of the calls to which an entry applies.
 */
export async function wrongTagSums(database: Kysely<Database>): Promise<readonly WrongTagSum[]> {
  const counted = sql`turn.workspace_id in (select workspace_id from tag_days union select id from workspaces where tag_budgets is not null)`;
  const { rows } = await sql<WrongTagSum>`
    with recorded as materialized (
      select workspace_id, name, value, day, sum(cost_usd) as cost_usd from (${taggedCalls(counted)}) as paid group by 1, 2, 3, 4
    ),
    summed as materialized (select workspace_id, name, value, day, cost_usd - unrecorded_usd as cost_usd from tag_days),
    totals as (select workspace_id, name, day, sum(cost_usd) as cost_usd from summed group by 1, 2, 3),
    of_all as (select workspace_id, name, day, sum(cost_usd) as cost_usd from recorded group by 1, 2, 3),
    of_entries as (
      select recorded.workspace_id, recorded.name, day, sum(cost_usd) as cost_usd
      from recorded join workspaces on workspaces.id = recorded.workspace_id
      where day > ((tags_counted_from + ${editMargin}) at time zone 'UTC')::date and day > (now() at time zone 'UTC')::date - ${sql.lit(keptDays)}
        and exists (
          select from jsonb_to_recordset(tag_budgets) as entry (tag text, value text)
          where entry.tag = recorded.name and entry.value in (${eachValue}, recorded.value)
        )
      group by 1, 2, 3
    ),
    wrong as (
      select workspace_id, name || '=' || value as tag, day, summed.cost_usd as summed, coalesce(recorded.cost_usd, 0) as recorded
      from summed left join recorded using (workspace_id, name, value, day)
      where value <> ${eachValue} and summed.cost_usd > coalesce(recorded.cost_usd, 0)
      union all
      select workspace_id, name, day, totals.cost_usd, coalesce(of_all.cost_usd, 0)
      from totals left join of_all using (workspace_id, name, day) where totals.cost_usd > coalesce(of_all.cost_usd, 0)
      union all
      select workspace_id, name, day, coalesce(totals.cost_usd, 0), of_entries.cost_usd
      from of_entries left join totals using (workspace_id, name, day) where coalesce(totals.cost_usd, 0) < of_entries.cost_usd
    )
    select workspace_id || ' ' || tag as owner, to_char(day, 'YYYY-MM-DD') as day, summed as "summedUsd", recorded as "recordedUsd"
    from wrong where day >= (select kept_from from ledger_retention) order by 2, 1`.execute(database);
  return rows;
}

/** A tag value that is the name of an erased end user, and its substitute. */
export interface ErasedValue {
  readonly workspaceId: string;
  readonly value: string;
  readonly substitute: string;
}

const hasValue = ({ value }: ErasedValue): RawBuilder<boolean> => sql<boolean>`
  (tags is not null and exists (select from jsonb_each_text(tags) as tag (name, value) where tag.value = ${value}))`;

const renamed = ({ value }: ErasedValue, substitute: string): RawBuilder<unknown> => sql`
  (select jsonb_object_agg(tag.name, case when tag.value = ${value} then ${substitute} else tag.value end) from jsonb_each_text(tags) as tag (name, value))`;

/** Whether any record has the tag value. @param during a condition on `opened_at` */
export async function isTagValue(
  database: Kysely<Database>,
  erased: ErasedValue,
  during: RawBuilder<unknown>,
): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from all_turns where workspace_id = ${erased.workspaceId} and ${during} and ${hasValue(erased)})
      or exists (select from usage_records where workspace_id = ${erased.workspaceId} and ${during} and ${hasValue(erased)}) as found`.execute(
    database,
  );
  return rows[0]?.found === true;
}

/**
 * Replaces the tag value in records.
 * @param workspace SQL for the number of the workspace in the ledger
 * @returns the number of changed records belonging to other end users: turns of the ledger, and calls outside of it
 */
export async function renameInRecords(
  transaction: Transaction<Database>,
  erased: ErasedValue,
  during: RawBuilder<unknown>,
  workspace: RawBuilder<unknown>,
): Promise<number> {
  const change = (table: string, own: RawBuilder<unknown>) => sql`
    update ${sql.table(table)} set tags = ${renamed(erased, erased.substitute)} where ${own} and ${during} and ${hasValue(erased)}`;
  const own = sql`workspace_id = ${erased.workspaceId}`;
  await change("turns", own).execute(transaction);
  const { rows } = await sql<{ others: number }>`
    with calls as (${change("usage_records", own)} returning "user"),
    turns as (${change("ledger", sql`workspace = ${workspace}`)} returning "user", is_moved)
    select count(*)::int as others
    from (select "user" from calls union all select "user" from turns where not is_moved) as renamed
    where "user" is distinct from ${erased.value}`.execute(transaction);
  return rows[0]?.others ?? 0;
}

/**
 * Replaces the tag value in sums. The sum of the shared account `*` stays, even if an end user is named `*`.
 * @param during a condition on `day`
 * @returns the number of changed sums
 */
export async function renameInSums(
  transaction: Transaction<Database>,
  { workspaceId, value, substitute }: ErasedValue,
  during: RawBuilder<unknown>,
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    update tag_days set value = ${substitute}
    where workspace_id = ${workspaceId} and value = ${value} and value <> ${eachValue} and ${during}`.execute(
    transaction,
  );
  return Number(numAffectedRows);
}

/** Whether a workspace has sums by tag. */
export async function hasTagSums(database: Kysely<Database>, workspaceId: string): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    select exists (select from tag_days where workspace_id = ${workspaceId}) as found`.execute(database);
  return rows[0]?.found === true;
}

/**
 * Records in the sums how much of them will no longer be found in records, because calls are about to lose their tags.
 * @param of and near as in `taggedCalls`
 */
export async function noteUnrecorded(
  transaction: Transaction<Database>,
  of: RawBuilder<unknown>,
  near: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    with erased as (
      select workspace_id, name, value, day, sum(cost_usd) as cost_usd from (${taggedCalls(of, near)}) as paid group by 1, 2, 3, 4
    ),
    paid as (
      select workspace_id, name, day, cost_usd, coalesce((
        select spent.value from tag_days as spent
        where (spent.workspace_id, spent.name, spent.value, spent.day) = (erased.workspace_id, erased.name, erased.value, erased.day)
      ), ${eachValue}) as value
      from erased
    ),
    lost as (select workspace_id, name, value, day, sum(cost_usd) as cost_usd from paid group by 1, 2, 3, 4)
    update tag_days set unrecorded_usd = unrecorded_usd + lost.cost_usd from lost
    where (tag_days.workspace_id, tag_days.name, tag_days.value, tag_days.day) = (lost.workspace_id, lost.name, lost.value, lost.day)`.execute(
    transaction,
  );
}

/** Closes the accounts of the value, and moves its reservations to the shared accounts. */
export async function closeAccounts(transaction: Transaction<Database>, erased: ErasedValue): Promise<void> {
  const { workspaceId, value } = erased;
  await sql`delete from tag_accounts where workspace_id = ${workspaceId} and value = ${value}`.execute(transaction);
  await sql`
    update budget_reservations set tags = ${renamed(erased, eachValue)} where workspace_id = ${workspaceId} and ${hasValue(erased)}`.execute(
    transaction,
  );
}
