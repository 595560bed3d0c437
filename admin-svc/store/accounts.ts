/**
 * Reads the remaining amounts of all budgets that apply to a call: those of its key, guardrails and workspace, and
 * those for its tags.
 */
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";
import { reservedSums } from "./ledger/holds.ts";
import { periodStart } from "./ledger/spending.ts";
import { type KeyTag, type TagAccount, tagAccounts, tagsOfKeys } from "./ledger/tag-accounts.ts";

export type BudgetScope = "key" | "workspace" | "guardrail" | "tag";

/** The account of a tag value limited by a budget for a period. */
export interface BudgetedTag {
  readonly name: string;
  /** Value of the tag; `*` for the account shared by all values without an individual account. */
  readonly account: string;
  readonly limitReset: ResetInterval | null;
}

export interface Account {
  readonly scope: BudgetScope;
  /** Limit in USD as a decimal. */
  readonly limitUsd: string;
  /** Id of the budget's guardrail; empty for any other budget. */
  readonly guardrailId: string;
  /** The tag whose value the budget limits; undefined for the budget of a key, workspace or guardrail. */
  readonly tag: BudgetedTag | undefined;
  /** Unspent amount in 10^-12 USD; below 0 when calls have cost more than their reservations. */
  readonly left: bigint;
  /** Amount in 10^-12 USD reserved for calls in progress. */
  held: bigint;
}

interface AccountRow {
  readonly scope: BudgetScope;
  readonly key_hash: string;
  readonly id: string;
  readonly limit_usd: string;
  readonly left_usd: string;
  readonly held_usd: string;
}

/** A link from a tag to the account that pays for it, or from a key to its workspace. */
interface LinkRow {
  readonly scope: "payer" | "fresh" | "member";
  /** For a tag: workspace, name and value as JSON; for a key: its hash. */
  readonly key_hash: string;
  readonly id: string;
}

/**
 * Order of budgets for error texts: of two budgets with the same amount left, the error names that with the lower rank.
 */
const rank: Readonly<Record<BudgetScope, number>> = { key: 0, workspace: 1, guardrail: 2, tag: 3 };

/**
 * Common table expression `budgets`, with the budgets of each key and of its guardrails. It follows `listed`, an
 * expression with keys and their limits.
 */
export const keyBudgets: RawBuilder<unknown> = sql`
  budgets as (
    select 'key' as scope, hash, hash as id, limit_usd, limit_reset from listed
    union all
    select 'guardrail', hash, guardrail.id::text, guardrail.limit_usd, guardrail.limit_reset
    from listed
      cross join lateral (
        select guardrail_id from guardrail_key_assignments where key_hash = hash
        union select unnest(further_guardrails)::uuid
        union select id from guardrails as usual where usual.workspace_id = listed.workspace_id and workspace_default
        union select id from guardrails where account_default
      ) as applied
      join guardrails as guardrail on guardrail.id = applied.guardrail_id and guardrail.mode = 'enforce'
  )`;

interface Payment {
  readonly keyHash: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
}

export interface BudgetAccounts {
  /**
   * Budgets that a reservation must fit into. @param opens decides whether a value without an account gets one;
   * otherwise the shared account pays for it
   */
  of(payment: Payment, opens: (account: TagAccount) => boolean): readonly Account[];
  /** Ids of workspaces with a tag value that has no account yet. */
  readonly freshIn: readonly string[];
}

/**
 * Reads the budgets for reservations. Keys of a workspace share its budget and its budgets by tag; a guardrail has a
 * separate budget for each key. One statement reads spent and reserved amounts: between two statements, a record could
 * move an amount from reserved to spent.
 */
export async function readBudgetAccounts(
  database: Kysely<Database>,
  keyHashes: readonly string[],
  tags: readonly KeyTag[],
): Promise<BudgetAccounts> {
  const { rows } = await sql<AccountRow | LinkRow>`
    with listed as (
      select hash, workspace_id, limit_usd, limit_reset, further_guardrails from api_keys where hash = any(${keyHashes}::text[])
    ),
    ${keyBudgets},
    ${tags.length === 0 ? sql`` : sql`${tagBudgets(tags)},`}
    shared as (
      select id, limit_usd, held, limit_usd - charged
        - (select coalesce(sum(cost_usd), 0) from workspace_days where workspace_id = id and day >= ${periodStart}) as left_usd
      from workspaces
        cross join lateral (select ${reservedSums} from budget_reservations where workspace_id = id) as reserved
      where limit_usd is not null and id in (select workspace_id from listed)
    )
    select scope, hash as key_hash, id, limit_usd, held as held_usd, limit_usd - charged
      - (select coalesce(sum(cost_usd), 0) from key_days where key_hash = hash and day >= ${periodStart}) as left_usd
    from budgets
      cross join lateral (select ${reservedSums} from budget_reservations where key_hash = hash) as reserved
    where limit_usd is not null
    union all
    select 'workspace', hash, shared.id::text, shared.limit_usd, shared.held, shared.left_usd
    from listed join shared on shared.id = listed.workspace_id
    ${tags.length === 0 ? sql`` : sql`union all ${tagRows}`}`.execute(database);
  return accountsIn(rows);
}

/**
 * Common table expressions: `found`, the accounts for a set of tags, and `tagged`, their amounts. The reservations of a
 * workspace are read once for all of its accounts, because other reservations of the workspace wait meanwhile.
 */
const tagBudgets = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  found as materialized (${tagAccounts(tagsOfKeys(tags))}),
  paying as materialized (select distinct workspace_id, name, account, limit_usd, limit_reset from found),
  budgeted as materialized (select distinct workspace_id, name, coalesce(limit_reset, '') as reset from paying),
  reserved_by_tag as materialized (
    select workspace_id, name, account, reset, ${reservedSums}
    from budget_reservations cross join lateral (
      select name, tags ->> name as account, reset, nullif(reset, '') as limit_reset
      from budgeted where budgeted.workspace_id = budget_reservations.workspace_id and tags ? name offset 0
    ) as payer
    where workspace_id = any(array(select workspace_id from budgeted))
    group by 1, 2, 3, 4
  ),
  tagged as materialized (
    select sums.*, json_build_array(workspace_id, name, account, limit_reset)::text as id,
      limit_usd - charged - (
        select coalesce(sum(cost_usd), 0) from tag_days as spent
        where spent.workspace_id = sums.workspace_id and spent.name = sums.name and spent.value = sums.account and day >= ${periodStart}
      ) as left_usd
    from (
      select workspace_id, name, account, reset, nullif(reset, '') as limit_reset, max(limit_usd) as limit_usd, sum(charged) as charged, sum(held) as held
      from (
        select workspace_id, name, account, coalesce(limit_reset, '') as reset, limit_usd, 0 as charged, 0 as held from paying
        union all
        select workspace_id, name, account, reset, null, charged, held from reserved_by_tag
      ) as parts
      group by 1, 2, 3, 4 having max(limit_usd) is not null
    ) as sums
  )`;

/**
 * Selects accounts, their links to tags, and the workspaces of keys as separate rows. Postgres would join them in slow
 * nested loops, because it expects few rows.
 */
const tagRows = sql`
  select 'tag', '', id, limit_usd, held, left_usd from tagged
  union all
  select case when is_fresh then 'fresh' else 'payer' end, json_build_array(workspace_id, name, value)::text, json_build_array(workspace_id, name, account, limit_reset)::text, null, null, null from found
  union all
  select 'member', hash, workspace_id::text, null, null, null from listed`;

const isAccount = (row: AccountRow | LinkRow): row is AccountRow =>
  row.scope !== "payer" && row.scope !== "fresh" && row.scope !== "member";

function accountsIn(rows: readonly (AccountRow | LinkRow)[]): BudgetAccounts {
  const accounts = rows.filter(isAccount);
  const ofKeys = grouped(accounts.filter(({ scope }) => scope !== "tag"));
  const ofTags = new Map(accounts.flatMap((row) => (row.scope === "tag" ? [[row.id, accountOf(row)]] : [])));
  const workspaces = new Map(rows.flatMap((row) => (row.scope === "member" ? [[row.key_hash, row.id]] : [])));
  const payers = { payer: new Map<string, readonly Account[]>(), fresh: new Map<string, readonly Account[]>() };
  for (const { scope, key_hash: of, id } of rows)
    if (scope === "payer" || scope === "fresh")
      add(payers[scope], JSON.stringify(JSON.parse(of)), ofTags.get(id) as Account);
  return {
    freshIn: [...new Set([...payers.fresh.keys()].map((tag) => (JSON.parse(tag) as [string])[0]))],
    of: ({ keyHash, tags }, opens) => {
      const workspaceId = workspaces.get(keyHash) ?? "";
      const ofTag = ({ name, value }: Payment["tags"][number]): readonly Account[] => {
        const tag = JSON.stringify([workspaceId, name, value]);
        const fresh = payers.fresh.get(tag);
        return (fresh && opens({ workspaceId, name, value }) ? fresh : payers.payer.get(tag)) ?? [];
      };
      return [...(ofKeys.get(keyHash) ?? []), ...tags.flatMap(ofTag)];
    },
  };
}

function grouped(rows: readonly AccountRow[]): ReadonlyMap<string, readonly Account[]> {
  const accounts = new Map<string, readonly Account[]>();
  const shared = new Map<string, Account>();
  for (const row of rows.toSorted((a, b) => rank[a.scope] - rank[b.scope])) {
    const account = (row.scope === "workspace" ? shared.get(row.id) : undefined) ?? accountOf(row);
    if (row.scope === "workspace") shared.set(row.id, account);
    add(accounts, row.key_hash, account);
  }
  return accounts;
}

const add = (accounts: Map<string, readonly Account[]>, owner: string, account: Account): void =>
  void accounts.set(owner, [...(accounts.get(owner) ?? []), account]);

const accountOf = ({ scope, id, limit_usd: limitUsd, left_usd: left, held_usd: held }: AccountRow): Account => ({
  scope,
  limitUsd,
  guardrailId: scope === "guardrail" ? id : "",
  tag: scope === "tag" ? budgetedTag(id) : undefined,
  left: left.startsWith("-") ? -parsePico(left.slice(1)) : parsePico(left),
  held: parsePico(held),
});

function budgetedTag(id: string): BudgetedTag {
  const [, name, account, limitReset] = JSON.parse(id) as [string, string, string, ResetInterval | null];
  return { name, account, limitReset };
}
