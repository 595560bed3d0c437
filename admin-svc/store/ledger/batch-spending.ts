/** Adds the spending of a batch to the totals of keys, and to the daily sums of keys and workspaces. */
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";
import { type Transaction, sql } from "kysely";
import type { Database } from "../database.ts";
import type { RecordedTags } from "../tables/usage.ts";
import { preparedAs } from "../postgres/prepared.ts";
import { type HeldAccounts, nameOfCall } from "./ledger-rows.ts";
import type { TurnCall, WholeTurn } from "./whole-turn.ts";

/** The new calls of a key on one UTC day. */
export interface SpentOnDay {
  readonly key_hash: string;
  readonly workspace_id: string;
  readonly day: string;
  readonly calls: number;
  /** Number of calls paid by the key. */
  readonly attempts: number;
  /** Cost in USD as a decimal. */
  readonly cost_usd: string;
  /** Tags of the calls; null without tags, and where no budget needs them. */
  readonly tags: RecordedTags | null;
  /** Tag accounts that the reservations of the calls named; null for none. */
  readonly accounts: RecordedTags | null;
}

/**
 * Computes the spending by the calls of whole turns.
 * @param byTags sums calls with different tags separately
 * @param held tag accounts named by the reservations, which are summed separately too
 */
export function spentBy(whole: readonly WholeTurn[], byTags: boolean, held: HeldAccounts): readonly SpentOnDay[] {
  const sums = new Map<
    string,
    { calls: number; attempts: number; pico: bigint; of: TurnCall; accounts: RecordedTags | null }
  >();
  for (const call of whole.flatMap(({ calls }) => calls)) {
    const tags = byTags ? JSON.stringify(call.record.tags) : "";
    const accounts = (held.size > 0 && held.get(nameOfCall(call.record))) || null;
    const paidFrom = accounts ? JSON.stringify(accounts) : "";
    const name = `${call.record.key_hash} ${dayNumber(call.at)} ${call.record.workspace_id}${tags}${paidFrom}`;
    const sum = sums.get(name) ?? { calls: 0, attempts: 0, pico: 0n, of: call, accounts };
    sums.set(name, sum);
    sum.calls++;
    if (call.record.payer === "key") sum.attempts++;
    sum.pico += call.cost ?? 0n;
  }
  return [...sums.values()].map(({ calls, attempts, pico, of, accounts }) => ({
    key_hash: of.record.key_hash,
    workspace_id: of.record.workspace_id,
    day: new Date(of.at).toISOString().slice(0, 10),
    calls,
    attempts,
    cost_usd: toDecimal(pico),
    tags: byTags ? (of.record.tags ?? null) : null,
    accounts,
  }));
}

const dayMs = 86_400_000;

/** Number of the UTC day since 1970. @param at milliseconds since 1970 */
export const dayNumber = (at: number): number => Math.floor(at / dayMs);

/** Adds spending to the totals of keys. A missing total is created, as the trigger of `usage_records` does. */
export async function addToTotals(transaction: Transaction<Database>, whole: readonly WholeTurn[]): Promise<void> {
  const totals = new Map<string, { workspaceId: string; pico: bigint; last: number }>();
  for (const call of whole.flatMap(({ calls }) => calls)) {
    const { key_hash: hash, workspace_id: workspaceId } = call.record;
    const total = totals.get(hash) ?? { workspaceId, pico: 0n, last: 0 };
    totals.set(hash, total);
    total.last = Math.max(total.last, call.at);
    total.pico += call.cost ?? 0n;
  }
  if (totals.size === 0) return;
  const used = JSON.stringify(
    [...totals].map(([hash, { workspaceId, pico, last }]) => ({
      key_hash: hash,
      workspace_id: workspaceId,
      cost_usd: toDecimal(pico),
      last_used_at: new Date(last),
    })),
  );
  const rows = sql`json_populate_recordset(null::key_totals, ${used}::json)`;
  await sql`${preparedAs("add_totals")}
    insert into key_totals
    select key_hash, workspace_id, (select coalesce(sum(cost_usd), 0) from key_days where key_days.key_hash = used.key_hash), null
    from ${rows} as used where not exists (select from key_totals where key_totals.key_hash = used.key_hash)
    order by key_hash on conflict (key_hash) do nothing`.execute(transaction);
  await sql`${preparedAs("add_to_totals")}
    insert into key_totals as totals select * from ${rows} as used order by key_hash
    on conflict (key_hash) do update
      set cost_usd = totals.cost_usd + excluded.cost_usd, last_used_at = greatest(totals.last_used_at, excluded.last_used_at)`.execute(
    transaction,
  );
}

/**
 * Adds spending to the daily sums of keys and workspaces. Call it last: concurrent batches of a workspace wait here for
 * the commit of one another.
 */
export async function addToDays(transaction: Transaction<Database>, spent: readonly SpentOnDay[]): Promise<void> {
  const paid = spent.filter(({ attempts }) => attempts !== 0);
  if (paid.length === 0) return;
  await sql`${preparedAs("add_to_days")}
    with paid as (
      select * from jsonb_to_recordset(${JSON.stringify(paid)}::jsonb)
        as paid (key_hash text, workspace_id uuid, day date, attempts bigint, cost_usd numeric)
    ),
    counted as (
      insert into key_days (key_hash, day, cost_usd, attempts)
      select key_hash, day, sum(cost_usd), sum(attempts) from paid group by 1, 2 order by 1, 2
      on conflict (key_hash, day) do update
        set cost_usd = key_days.cost_usd + excluded.cost_usd, attempts = key_days.attempts + excluded.attempts
    )
    insert into workspace_days (workspace_id, day, cost_usd, attempts)
    select workspace_id, day, sum(cost_usd), sum(attempts) from paid group by 1, 2 order by 1, 2
    on conflict (workspace_id, day) do update
      set cost_usd = workspace_days.cost_usd + excluded.cost_usd, attempts = workspace_days.attempts + excluded.attempts`.execute(
    transaction,
  );
}
