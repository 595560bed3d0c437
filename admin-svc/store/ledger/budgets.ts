/**
 * Budget reservations. A call is admitted while its worst-case cost fits into every budget of its key, in addition to spent and reserved amounts. The
 * reservation is released in the transaction that writes the call's record. Its states until then are explained in `holds.ts`.
 */
import { toDecimal, parsePico } from "@sluice/proto/lib/ledger/money.js";
import { type Kysely, type Transaction, sql } from "kysely";
import { eachValue } from "@sluice/proto/contract/records/tag-budgets.js";
import { tagsText } from "@sluice/proto/lib/turns/tags.js";
import { type Account, type BudgetScope, readBudgetAccounts } from "../accounts.ts";
import type { Database } from "../database.ts";
import { runInTransaction } from "../postgres/transaction.ts";
import { holdMinutes } from "./holds.ts";
import { type TagAccount, freePlacesOf, openTagAccounts } from "./tag-accounts.ts";

export interface ReservedCall {
  readonly turnId: string;
  readonly attempt: number;
}

export interface Reservation extends ReservedCall {
  readonly keyHash: string;
  /** Worst-case cost, USD as a decimal. */
  readonly amountUsd: string;
  /** Start of the process that renews the reservation; empty when it is renewed separately. */
  readonly bootId: string;
  /** Minimum amount to leave in each of the key's own budgets, USD as a decimal; empty means none. */
  readonly keyBesidesUsd: string;
  /** Minimum amount to leave in the budget of the workspace. */
  readonly workspaceBesidesUsd: string;
  /** Tags of the request for which its workspace may have budgets, with the minimum amounts to leave in these. */
  readonly tags: readonly {
    readonly name: string;
    readonly value: string;
    readonly besidesUsd: string;
    /** The same for the account that values without one of their own share; empty means the amount for the value's own account. */
    readonly sharedBesidesUsd: string;
  }[];
}

/** The decision, and the budget closest to exhaustion; no budget when the key has none. */
export interface ReservationResult {
  readonly admitted: boolean;
  readonly budget?: BudgetScope;
  /** Id of the budget's guardrail. */
  readonly guardrailId?: string;
  /** USD as a decimal. */
  readonly limitUsd?: string;
  /** Amount neither spent nor held before this reservation. */
  readonly remainingUsd?: string;
  /** Unspent amount held for other calls. */
  readonly heldUsd?: string;
  /** Whether only the held amounts caused the refusal: the spent amount would let the call pass. */
  readonly held: boolean;
  /** Tag of the budget, such as `project=apollo`. */
  readonly tag?: string;
  /** Reset of the budget of a tag; empty for never. */
  readonly limitReset?: string;
}

/** Decides on the calls in order, in a single transaction. */
export function reserveBudget(
  database: Kysely<Database>,
  wanted: readonly Reservation[],
): Promise<readonly ReservationResult[]> {
  const keyHashes = [...new Set(wanted.map(({ keyHash }) => keyHash))];
  const tags = wanted.flatMap((each) => each.tags.map(({ name, value }) => ({ keyHash: each.keyHash, name, value })));
  return runInTransaction(database, async (transaction) => {
    await lockWorkspaces(transaction, keyHashes);
    const budgets = await readBudgetAccounts(transaction, keyHashes, tags);
    const isFresh = budgets.freshIn.length > 0;
    const places = new Places(isFresh ? await freePlacesOf(transaction, budgets.freshIn) : new Map());
    const held: AdmittedReservation[] = [];
    const decided = wanted.map((reservation) => {
      const accounts = budgets.of(reservation, (account) => places.take(account));
      const result = decide(reservation, accounts);
      places.settle(result.admitted);
      if (result.admitted && result.budget !== undefined)
        held.push({ ...reservation, accounts: tagAccountsIn(accounts) });
      return result;
    });
    await hold(transaction, held);
    if (places.opened.size > 0) await openTagAccounts(transaction, [...places.opened.values()]);
    return decided;
  });
}

/** Accounts that values get in a transaction. A refused call opens none, so a caller cannot take all of them for nothing. */
class Places {
  readonly opened = new Map<string, TagAccount>();
  readonly #free: Map<string, number>;
  #taken: TagAccount[] = [];

  /** @param free numbers of accounts that workspaces may still open */
  constructor(free: Map<string, number>) {
    this.#free = free;
  }

  /** @returns whether the account of the value pays for the call under decision */
  take(account: TagAccount): boolean {
    if (this.opened.has(placeName(account))) return true;
    const free = this.#free.get(account.workspaceId) ?? 0;
    if (free <= this.#taken.length) return false;
    this.#taken.push(account);
    return true;
  }

  /** Ends the decision about a call. */
  settle(isAdmitted: boolean): void {
    if (this.#taken.length === 0) return;
    for (const account of isAdmitted ? this.#taken : []) {
      this.opened.set(placeName(account), account);
      this.#free.set(account.workspaceId, (this.#free.get(account.workspaceId) ?? 0) - 1);
    }
    this.#taken = [];
  }
}

const placeName = ({ workspaceId, name, value }: TagAccount): string => JSON.stringify([workspaceId, name, value]);

/** Reservations of a workspace run one after the other. A separate statement, so the next transaction sees the commit of the last lock holder. */
async function lockWorkspaces(transaction: Transaction<Database>, keyHashes: readonly string[]): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(id, 0)) from (
      select distinct workspace_id::text as id from api_keys where hash = any(${keyHashes}::text[]) order by 1
    ) as named`.execute(transaction);
}

/** Holds the amount in every budget, or in none. A refusal names the exhausted budget, or else the budget with the least free amount. */
function decide(reservation: Reservation, accounts: readonly Account[]): ReservationResult {
  if (accounts.length === 0) return { admitted: true, held: false };
  const amount = parsePico(reservation.amountUsd);
  const spent = accounts.filter(({ left }) => left <= 0n || left < amount);
  const admitted = accounts.every(
    (account) => free(account) > 0n && free(account) >= amount + besides(account, reservation),
  );
  const tightest = leastFree(spent.length > 0 ? spent : accounts);
  const { scope: budget, limitUsd, guardrailId, tag } = tightest;
  const [left, remaining] = [atLeastZero(tightest.left), atLeastZero(free(tightest))];
  if (admitted) for (const account of accounts) account.held += amount;
  const amounts = { limitUsd, remainingUsd: toDecimal(remaining), heldUsd: toDecimal(left - remaining) };
  const ofTag = tag && { tag: tagsText([[tag.name, tag.account]]), limitReset: tag.limitReset ?? "" };
  return { ...amounts, ...ofTag, budget, guardrailId, admitted, held: !admitted && spent.length === 0 };
}

const free = ({ left, held }: Account): bigint => left - held;

const atLeastZero = (amount: bigint): bigint => (amount < 0n ? 0n : amount);

function besides({ scope, tag }: Account, { keyBesidesUsd, workspaceBesidesUsd, tags }: Reservation): bigint {
  if (tag) {
    const { besidesUsd, sharedBesidesUsd } = tags.find(({ name }) => name === tag.name) ?? noBesides;
    return parsePico((tag.account === eachValue && sharedBesidesUsd) || besidesUsd || "0");
  }
  return parsePico((scope === "workspace" ? workspaceBesidesUsd : keyBesidesUsd) || "0");
}

const noBesides = { besidesUsd: "", sharedBesidesUsd: "" };

/** Accounts of tags by the names of the tags; null without any. */
function tagAccountsIn(accounts: readonly Account[]): string | null {
  const named = accounts.flatMap(({ tag }) => (tag ? [[tag.name, tag.account] as const] : []));
  return named.length === 0 ? null : JSON.stringify(Object.fromEntries(named));
}

const leastFree = (accounts: readonly Account[]): Account =>
  accounts.reduce((least, account) => (free(account) < free(least) ? account : least));

/** A reservation with its accounts of tags as JSON. */
type AdmittedReservation = Reservation & { readonly accounts: string | null };

async function hold(transaction: Transaction<Database>, held: readonly AdmittedReservation[]): Promise<void> {
  if (held.length === 0) return;
  const turns = held.map(({ turnId }) => turnId);
  const attempts = held.map(({ attempt }) => attempt);
  const keyHashes = held.map(({ keyHash }) => keyHash);
  const amounts = held.map(({ amountUsd }) => amountUsd);
  const boots = held.map(({ bootId }) => bootId || null);
  const tags = held.map(({ accounts }) => accounts);
  await sql`
    insert into budget_reservations (turn_id, attempt, key_hash, workspace_id, amount_usd, boot_id, tags, expires_at)
    select turn_id, attempt, key_hash, workspace_id, amount_usd, boot_id, held.tags, now() + make_interval(mins => ${holdMinutes})
    from unnest(${turns}::uuid[], ${attempts}::smallint[], ${keyHashes}::text[], ${amounts}::numeric[], ${boots}::uuid[], ${tags}::jsonb[])
      as held (turn_id, attempt, key_hash, amount_usd, boot_id, tags)
      join api_keys on hash = key_hash
    on conflict (turn_id, attempt) do nothing`.execute(transaction);
}

export interface ReservationRaise extends ReservedCall {
  /** USD as a decimal. */
  readonly amountUsd: string;
}

/** Raises the reservation of a call above its worst case, regardless of the remaining amount: the money is spent. */
export async function raiseReservation(
  database: Kysely<Database>,
  { turnId, attempt, amountUsd }: ReservationRaise,
): Promise<void> {
  await sql`
    update budget_reservations
    set amount_usd = greatest(amount_usd, ${amountUsd}::numeric), expires_at = now() + make_interval(mins => ${holdMinutes})
    where turn_id = ${turnId}::uuid and attempt = ${attempt} and not is_settled`.execute(database);
}

/** Releases reservations of calls never made. */
export async function dropReservations(database: Kysely<Database>, dropped: readonly ReservedCall[]): Promise<void> {
  const turns = dropped.map(({ turnId }) => turnId);
  const attempts = dropped.map(({ attempt }) => attempt);
  await sql`
    delete from budget_reservations as held using unnest(${turns}::uuid[], ${attempts}::smallint[]) as dropped (turn_id, attempt)
    where held.turn_id = dropped.turn_id and held.attempt = dropped.attempt`.execute(database);
}
