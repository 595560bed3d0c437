/** The remaining amounts of the budgets that apply to a call of a key: its own, its guardrails', its workspace's, and those for tags. */
import { parsePico } from "@sluice/proto/lib/ledger/money.js";
import type { ResetInterval } from "@sluice/proto/contract/records/record-shapes.js";
import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "./database.ts";
import { reservedSums } from "./ledger/holds.ts";
import { periodStart } from "./ledger/spending.ts";
import { type KeyTag, keyTags, tagAccounts, tagsOfKeys } from "./ledger/tag-accounts.ts";

export type BudgetScope = "key" | "workspace" | "guardrail" | "tag";

/** An account of a tag, which a budget limits for a period. */
export interface BudgetedTag {
  readonly name: string;
  /** Value of the tag; `*` for the account that values without one of their own share. */
  readonly account: string;
  readonly limitReset: ResetInterval | null;
}

export interface Account {
  readonly scope: BudgetScope;
  /** USD as a decimal. */
  readonly limitUsd: string;
  /** Id of the budget's guardrail; empty for any other budget. */
  readonly guardrailId: string;
  /** Undefined for any other budget. */
  readonly tag: BudgetedTag | undefined;
  /** Unspent amount in 10^-12 USD; below 0 when calls have cost more than their reservations. */
  readonly left: bigint;
  /** Amount in 10^-12 USD reserved for calls under way. */
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

/** When two budgets have the same amount left, an error names the budget with the lower rank. */
const rank: Readonly<Record<BudgetScope, number>> = { key: 0, workspace: 1, guardrail: 2, tag: 3 };

/** Common table expression after `listed`, which has keys with their limits: the budgets of each single key, its own and its guardrails'. */
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

/** Budgets of a reservation. */
export type BudgetAccounts = (reservation: {
  readonly keyHash: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
}) => readonly Account[];

/**
 * Budgets of reservations. Keys of a workspace share its budget and those for tags; a guardrail's budget is separate for each key. One statement reads spent and
 * reserved amounts: between two statements, a record could move an amount from reserved to spent.
 */
export async function readBudgetAccounts(
  database: Kysely<Database>,
  keyHashes: readonly string[],
  tags: readonly KeyTag[],
): Promise<BudgetAccounts> {
  const { rows } = await sql<AccountRow>`
    with listed as (
      select hash, workspace_id, limit_usd, limit_reset, further_guardrails from api_keys where hash = any(${keyHashes}::text[])
    ),
    ${keyBudgets},
    ${tags.length === 0 ? sql`` : sql`tagged as materialized (${tagBudgets(tags)}),`}
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
    ${tags.length === 0 ? sql`` : sql`union all ${byKeyTag(tags)}`}`.execute(database);
  return accountsIn(rows, tags);
}

/** Budgets for different tags. */
const tagBudgets = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  select workspace_id, name, value, json_build_array(workspace_id, name, account, limit_reset)::text as id, limit_usd, held,
    limit_usd - charged - (
      select coalesce(sum(cost_usd), 0) from tag_days as spent
      where spent.workspace_id = found.workspace_id and spent.name = found.name and spent.value = found.account and day >= ${periodStart}
    ) as left_usd
  from (${tagAccounts(tagsOfKeys(tags))}) as found
    cross join lateral (
      select ${reservedSums} from budget_reservations as reservation
      where reservation.workspace_id = found.workspace_id and tags @> jsonb_build_object(name, account)
    ) as reserved`;

/** Their rows for each tag of a key, the place of which stands for the key. */
const byKeyTag = (tags: readonly KeyTag[]): RawBuilder<unknown> => sql`
  select 'tag', 'tag ' || place, tagged.id, tagged.limit_usd, tagged.held, tagged.left_usd
  from ${keyTags(tags)} join listed on hash = key_hash join tagged using (workspace_id, name, value)`;

/** @param readTags tags whose budgets were read */
function accountsIn(rows: readonly AccountRow[], readTags: readonly KeyTag[]): BudgetAccounts {
  const accounts = grouped(rows);
  const places = new Map(readTags.map((tag, index) => [nameOf(tag), `tag ${index + 1}`]));
  return ({ keyHash, tags }) =>
    [keyHash, ...tags.map((tag) => places.get(nameOf({ ...tag, keyHash })) ?? "")].flatMap(
      (owner) => accounts.get(owner) ?? [],
    );
}

const nameOf = ({ keyHash, name, value }: KeyTag): string => JSON.stringify([keyHash, name, value]);

function grouped(rows: readonly AccountRow[]): ReadonlyMap<string, readonly Account[]> {
  const accounts = new Map<string, Account[]>();
  const shared = new Map<string, Account>();
  for (const row of rows.toSorted((a, b) => rank[a.scope] - rank[b.scope])) {
    const isShared = row.scope === "workspace" || row.scope === "tag";
    const account = (isShared ? shared.get(row.id) : undefined) ?? accountOf(row);
    if (isShared) shared.set(row.id, account);
    accounts.set(row.key_hash, [...(accounts.get(row.key_hash) ?? []), account]);
  }
  return accounts;
}

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
