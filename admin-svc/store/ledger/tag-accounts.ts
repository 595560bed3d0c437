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
 * Rows of `workspace_id`, `name`, `value`, `account`, `is_fresh`, `limit_usd` and `limit_reset`, one for each entry that holds for a tag: the entries of its value, or
 * else those for every value. A value without an account has two rows for each of these: one with the account that it may get, which is fresh, and one with the shared.
 * @param tags a table with the first three columns
 */
export const tagAccounts = (tags: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  select tag.workspace_id, tag.name, tag.value, entry.limit_usd, entry.limit_reset, payer.account, payer.is_fresh
  from ${tags} as tag
    join workspaces on workspaces.id = tag.workspace_id
    cross join lateral (
      select value, "limit" as limit_usd, limit_reset, bool_or(value <> ${eachValue}) over () as is_named
      from jsonb_to_recordset(tag_budgets) as entry (tag text, value text, "limit" numeric(24, 12), limit_reset text)
      where entry.tag = tag.name and entry.value in (${eachValue}, tag.value)
    ) as entry
    cross join lateral (
      select exists (
        select from tag_accounts as known where (known.workspace_id, known.name, known.value) = (tag.workspace_id, tag.name, tag.value)
      ) or entry.value <> ${eachValue} or tag.value = ${eachValue} as has_account
    ) as known
    cross join lateral (
      select tag.value as account, not has_account as is_fresh
      union all
      select ${eachValue}, false where not has_account
    ) as payer
  where entry.value <> ${eachValue} or not is_named`;

/** Tags of keys as a table, with their places in the list from 1. */
export const keyTags = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  unnest(${tags.map(({ keyHash }) => keyHash)}::text[], ${tags.map(({ name }) => name)}::text[], ${tags.map(({ value }) => value)}::text[])
    with ordinality as given (key_hash, name, value, place)`;

/** Different tags with the ids of their workspaces, as a table. */
export const tagsOfKeys = (tags: readonly KeyTag[]): RawBuilder<unknown> =>
  sql`(select distinct workspace_id, given.name, given.value from ${keyTags(tags)} join api_keys on hash = key_hash)`;

/** An account by an entry for every value. */
export interface TagAccount {
  readonly workspaceId: string;
  readonly name: string;
  readonly value: string;
}

/** Tags with an entry for every value, of the workspace of the column `workspace_id` of a table. Only their accounts count. */
const openTags = (table: string): RawBuilder<unknown> => sql`array(
  select entry.tag from workspaces cross join lateral jsonb_to_recordset(tag_budgets) as entry (tag text, value text)
  where workspaces.id = ${sql.ref(`${table}.workspace_id`)} and entry.value = ${eachValue}
)`;

/** Accounts that this workspace may still open. */
const freePlaces = (table: string): RawBuilder<number> => sql<number>`greatest(0, ${sql.lit(maxTagAccounts)} - (
  select count(*) from tag_accounts as known
  where known.workspace_id = ${sql.ref(`${table}.workspace_id`)} and known.name = any(${openTags(table)})
))::int`;

/** Numbers of accounts that workspaces may still open, by their ids. */
export async function freePlacesOf(
  transaction: Transaction<Database>,
  workspaceIds: readonly string[],
): Promise<Map<string, number>> {
  const { rows } = await sql<{ workspace_id: string; free: number }>`
    select workspace_id, ${freePlaces("named")} as free from unnest(${workspaceIds}::uuid[]) as named (workspace_id)`.execute(
    transaction,
  );
  return new Map(rows.map(({ workspace_id: id, free }) => [id, free]));
}

/** Gives values accounts of their own. */
export async function openTagAccounts(
  transaction: Transaction<Database>,
  accounts: readonly TagAccount[],
): Promise<void> {
  const parts = [
    accounts.map((each) => each.workspaceId),
    accounts.map(({ name }) => name),
    accounts.map(({ value }) => value),
  ];
  await sql`
    insert into tag_accounts (workspace_id, name, value)
    select * from unnest(${parts[0]}::uuid[], ${parts[1]}::text[], ${parts[2]}::text[]) as opened order by 1, 2, 3
    on conflict do nothing`.execute(transaction);
}

/** Spending by calls with the same tags and the same accounts. */
export interface TaggedSpending {
  readonly workspace_id: string;
  /** In UTC. */
  readonly day: string;
  readonly tags: RecordedTags | null;
  /** Accounts that the reservations of the calls named; null without any. */
  readonly accounts: RecordedTags | null;
  /** USD as a decimal. */
  readonly cost_usd: string;
}

/**
 * Adds to the sums by which budgets for tags are decided. A call settles the accounts of its reservation, even if the entries of tag budgets have changed since; the present entries choose
 * accounts for its other tags. Call it after the sums of workspaces are added: batches that add to the same account already wait for each other there.
 */
export async function addToTagDays(
  transaction: Transaction<Database>,
  spent: readonly TaggedSpending[],
): Promise<void> {
  const paid = spent.filter(({ tags, accounts, cost_usd: cost }) => (tags ?? accounts) !== null && Number(cost) !== 0);
  if (paid.length === 0) return;
  await sql`
    with spent as materialized (
      select workspace_id, day, coalesce(tags, '{}') as tags, coalesce(accounts, '{}') as accounts, cost_usd
      from jsonb_to_recordset(${JSON.stringify(paid)}::jsonb) as spent (workspace_id uuid, day date, tags jsonb, accounts jsonb, cost_usd numeric)
    ),
    paid as (
      select workspace_id, day, name, value, sum(cost_usd) as cost_usd
      from spent cross join lateral jsonb_each_text(tags) as tag (name, value)
      where not accounts ? name group by 1, 2, 3, 4
    ),
    payers as materialized (
      select distinct workspace_id, name, value, account, is_fresh
      from (${tagAccounts(sql`(select distinct workspace_id, name, value from paid)`)}) as found
    ),
    places as materialized (
      select workspace_id, ${freePlaces("named")} as free from (select distinct workspace_id from payers where is_fresh) as named
    ),
    opened as materialized (
      select workspace_id, name, value
      from (
        select *, row_number() over (partition by workspace_id order by name, value) as place from payers where is_fresh
      ) as fresh
        join places using (workspace_id)
      where place <= free
    ),
    added as (
      insert into tag_accounts (workspace_id, name, value) select * from opened order by 1, 2, 3 on conflict do nothing
    ),
    accounts as (
      select workspace_id, name, value, account from payers
      where is_fresh = ((workspace_id, name, value) in (select * from opened))
    )
    insert into tag_days (workspace_id, name, value, day, cost_usd)
    select workspace_id, name, account, day, sum(cost_usd)
    from (
      select workspace_id, name, account, day, cost_usd from paid join accounts using (workspace_id, name, value)
      union all
      select workspace_id, name, account, day, cost_usd from spent cross join lateral jsonb_each_text(accounts) as held (name, account)
    ) as settled
    group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (workspace_id, name, value, day) do update set cost_usd = tag_days.cost_usd + excluded.cost_usd`.execute(
    transaction,
  );
}

/** Days without spending after which a value loses its account: longer than any period of a budget. */
const usedDays = 62;
/** Days that sums of accounts are kept, also for budgets that are set again. */
export const keptDays = 400;

/**
 * Removes old sums, except those that a budget without a reset counts, and accounts that nobody uses: those without spending or a reservation for some time and without a
 * budget without a reset, and those of tags without an entry for every value. Sums stay, so a value with a new account has what it spent.
 */
export async function dropOldTagSums(database: Kysely<Database>): Promise<void> {
  const isPrepaid = (table: string) => sql`exists (
    select from workspaces cross join lateral jsonb_to_recordset(tag_budgets) as entry (tag text, value text, limit_reset text)
    where workspaces.id = ${sql.ref(`${table}.workspace_id`)} and entry.tag = ${sql.ref(`${table}.name`)}
      and entry.value in (${eachValue}, ${sql.ref(`${table}.value`)}) and entry.limit_reset is null
  )`;
  const today = sql`(now() at time zone 'UTC')::date`;
  await sql`delete from tag_days where day < ${today} - ${sql.lit(keptDays)} and not ${isPrepaid("tag_days")}`.execute(
    database,
  );
  await sql`
    delete from tag_accounts
    where (tag_accounts.name <> all(${openTags("tag_accounts")}) or created_at < now() - make_interval(days => ${sql.lit(usedDays)}) and not ${isPrepaid("tag_accounts")} and not exists (
      select from tag_days as spent
      where (spent.workspace_id, spent.name, spent.value) = (tag_accounts.workspace_id, tag_accounts.name, tag_accounts.value)
        and day >= ${today} - ${sql.lit(usedDays)}
    )) and not exists (
      select from budget_reservations as held
      where held.workspace_id = tag_accounts.workspace_id and tags @> jsonb_build_object(tag_accounts.name, tag_accounts.value)
    )`.execute(database);
}
