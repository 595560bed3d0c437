/**
 * Accounts of tag values, to which the costs of calls are charged for the tag budgets of a workspace. A value with an
 * explicit budget entry has its own account. For an entry covering every value, the first values get an account
 * each, and all further values share the account `*`, so ever new values cannot create any number of accounts.
 */
import { eachValue, maxTagAccounts } from "@sluice/proto/contract/records/tag-budgets.js";
import { type Kysely, type RawBuilder, type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { RecordedTags } from "../tables/usage.ts";

/** A tag of a call, with the key that made the call. */
export interface KeyTag {
  readonly keyHash: string;
  readonly name: string;
  readonly value: string;
}

/**
 * SQL for the budget entries that apply to tags, as rows of `workspace_id`, `name`, `value`, `account`, `is_fresh`,
 * `limit_usd` and `limit_reset`. Entries for a value take precedence over entries for every value. A value without an
 * account has two rows per entry: one with the account that it may get (`is_fresh`), one with the shared account.
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

/** SQL table of tags of keys, with their positions in the list, from 1. */
export const keyTags = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  unnest(${tags.map(({ keyHash }) => keyHash)}::text[], ${tags.map(({ name }) => name)}::text[], ${tags.map(({ value }) => value)}::text[])
    with ordinality as given (key_hash, name, value, place)`;

/** SQL table of distinct tags with the ids of their workspaces. */
export const tagsOfKeys = (tags: readonly KeyTag[]): RawBuilder<unknown> =>
  sql`(select distinct workspace_id, given.name, given.value from ${keyTags(tags)} join api_keys on hash = key_hash)`;

/** The account of a tag value that got it by an entry for every value. */
export interface TagAccount {
  readonly workspaceId: string;
  readonly name: string;
  readonly value: string;
}

/**
 * SQL array of the tags that have an entry for every value in a workspace; only their accounts are limited in number.
 * @param table has the column `workspace_id`
 */
const openTags = (table: string): RawBuilder<unknown> => sql`array(
  select entry.tag from workspaces cross join lateral jsonb_to_recordset(tag_budgets) as entry (tag text, value text)
  where workspaces.id = ${sql.ref(`${table}.workspace_id`)} and entry.value = ${eachValue}
)`;

/** SQL for the number of accounts that a workspace may still open. */
const freePlaces = (table: string): RawBuilder<number> => sql<number>`greatest(0, ${sql.lit(maxTagAccounts)} - (
  select count(*) from tag_accounts as known
  where known.workspace_id = ${sql.ref(`${table}.workspace_id`)} and known.name = any(${openTags(table)})
))::int`;

/** The number of accounts that each workspace may still open, by workspace id. */
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

/** Creates accounts for tag values. */
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
  /** Day in UTC. */
  readonly day: string;
  readonly tags: RecordedTags | null;
  /** Accounts named by the reservations of the calls; null for none. */
  readonly accounts: RecordedTags | null;
  /** Cost in USD as a decimal. */
  readonly cost_usd: string;
}

/**
 * Adds spending to the sums on which tag budgets are decided. A call is charged to the accounts named by its
 * reservation, even if the budget entries have changed since; for its other tags, the current entries choose the
 * accounts. Call it after sums of workspaces are updated: batches that would update the same account already wait for
 * each other there.
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

/** Days without spending after which a value loses its account; more than the longest budget period, a month. */
const usedDays = 62;
/** Days for which sums of accounts are kept, also when their budget was removed, since it may be set again. */
export const keptDays = 400;

/**
 * Removes old sums, except those that a budget without reset still counts, and unused accounts: those of tags without
 * an entry for every value, and those without recent spending or a reservation, unless a budget without reset counts
 * them. A value that gets an account again continues with its sums.
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
