/**
 * Accounts of tags, from which calls are paid by the entries of a workspace. A value with an entry of its own has an account, and so has each of the first values
 * that an entry for every value meets; further ones share the account `*`, so applications with ever new values cannot make any number of accounts.
 */
import { eachValue, maxTagAccounts } from "@sluice/proto/contract/records/tag-budgets.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { RecordedTags } from "../tables/usage.ts";

/** A tag of a call of a key. */
export interface KeyTag {
  readonly keyHash: string;
  readonly name: string;
  readonly value: string;
}

/**
 * Rows of `workspace_id`, `name`, `value`, `account`, `limit_usd` and `limit_reset`, one for each entry that holds for a tag: the entries of its value, or else those for
 * every value.
 * @param tags a table with the first three columns
 */
export const tagAccounts = (tags: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select tag.workspace_id, tag.name, tag.value, entry.limit_usd, entry.limit_reset,
    case when entry.value <> ${eachValue} or exists (
      select from tag_accounts as known where (known.workspace_id, known.name, known.value) = (tag.workspace_id, tag.name, tag.value)
    ) then tag.value else ${eachValue} end as account
  from ${tags} as tag
    join workspaces on workspaces.id = tag.workspace_id
    cross join lateral (
      select value, "limit" as limit_usd, limit_reset, bool_or(value <> ${eachValue}) over () as is_named
      from jsonb_to_recordset(tag_budgets) as entry (tag text, value text, "limit" numeric(24, 12), limit_reset text)
      where entry.tag = tag.name and entry.value in (${eachValue}, tag.value)
    ) as entry
  where entry.value <> ${eachValue} or not is_named`;

/** Tags of keys as a table, with their places in the list from 1. */
export const keyTags = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  unnest(${tags.map(({ keyHash }) => keyHash)}::text[], ${tags.map(({ name }) => name)}::text[], ${tags.map(({ value }) => value)}::text[])
    with ordinality as given (key_hash, name, value, place)`;

/** Different tags with the ids of their workspaces, as a table. */
export const tagsOfKeys = (tags: readonly KeyTag[]): RawBuilder<unknown> =>
  sql`(select distinct workspace_id, given.name, given.value from ${keyTags(tags)} join api_keys on hash = key_hash)`;

/** Gives new values accounts of their own where an entry for every value holds, while there is room. The caller has the lock of the workspaces. */
export async function openTagAccounts(transaction: Transaction<Database>, tags: readonly KeyTag[]): Promise<void> {
  await sql`
    insert into tag_accounts (workspace_id, name, value)
    select workspace_id, name, value
    from (
      select workspace_id, name, value, row_number() over (partition by workspace_id order by name, value) as place
      from (select distinct workspace_id, name, value from (${tagAccounts(tagsOfKeys(tags))}) as found where account = ${eachValue}) as unknown
    ) as fresh
    where place <= ${maxTagAccounts} - (select count(*) from tag_accounts as known where known.workspace_id = fresh.workspace_id)
    on conflict do nothing`.execute(transaction);
}

/** Spending by calls with the same tags. */
export interface TaggedSpending {
  readonly workspace_id: string;
  /** In UTC. */
  readonly day: string;
  readonly tags: RecordedTags | null;
  /** USD as a decimal. */
  readonly cost_usd: string;
}

/**
 * Adds to the sums by which budgets for tags are decided. Follows the sums of workspaces: batches that add to the same account already wait for each other there.
 */
export async function addToTagDays(
  transaction: Transaction<Database>,
  spent: readonly TaggedSpending[],
): Promise<void> {
  const paid = spent.filter(({ tags, cost_usd: cost }) => tags !== null && Number(cost) !== 0);
  if (paid.length === 0) return;
  await sql`
    with paid as (
      select workspace_id, day, name, value, sum(cost_usd) as cost_usd
      from jsonb_to_recordset(${JSON.stringify(paid)}::jsonb) as paid (workspace_id uuid, day date, tags jsonb, cost_usd numeric)
        cross join lateral jsonb_each_text(tags) as tag (name, value)
      group by 1, 2, 3, 4
    ),
    accounts as (
      select distinct workspace_id, name, value, account
      from (${tagAccounts(sql`(select distinct workspace_id, name, value from paid)`)}) as found
    )
    insert into tag_days (workspace_id, name, value, day, cost_usd)
    select workspace_id, name, account, day, sum(cost_usd)
    from paid join accounts using (workspace_id, name, value)
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (workspace_id, name, value, day) do update set cost_usd = tag_days.cost_usd + excluded.cost_usd`.execute(
    transaction,
  );
}

/** Days that sums of accounts are kept: longer than any period of a budget. */
const keptDays = 62;

/**
 * Removes sums of past periods, and accounts without spending since then, whose places other values may take. In a workspace with a budget that never begins anew
 * everything stays.
 */
export async function dropOldTagSums(database: Kysely<Database>): Promise<void> {
  const isKept = (table: string) => sql`exists (
    select from workspaces cross join lateral jsonb_to_recordset(tag_budgets) as entry (limit_reset text)
    where workspaces.id = ${sql.ref(`${table}.workspace_id`)} and entry.limit_reset is null
  )`;
  await sql`
    delete from tag_days where day < (now() at time zone 'UTC')::date - ${sql.lit(keptDays)} and not ${isKept("tag_days")}`.execute(
    database,
  );
  await sql`
    delete from tag_accounts
    where created_at < now() - make_interval(days => ${sql.lit(keptDays)}) and not ${isKept("tag_accounts")} and not exists (
      select from tag_days as spent
      where (spent.workspace_id, spent.name, spent.value) = (tag_accounts.workspace_id, tag_accounts.name, tag_accounts.value)
    )`.execute(database);
}
