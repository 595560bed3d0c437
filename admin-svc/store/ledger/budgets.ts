/**
 * Budget reservations. A call is admitted if its worst-case cost fits into every budget of its key, in addition to
 * spent and reserved amounts. The transaction storing the call's record releases the reservation. `holds.ts`
 * explains the states of a reservation until then.
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
  /** Worst-case cost of the call in USD as a decimal. */
  readonly amountUsd: string;
  /** Boot id of the process renewing the reservation; empty when it is renewed separately. */
  readonly bootId: string;
  /** Minimum amount to leave in each of the key's own budgets, USD as a decimal; empty means none. */
  readonly keyBesidesUsd: string;
  /** Minimum amount to leave in the budget of the workspace. */
  readonly workspaceBesidesUsd: string;
  /** Tags of the request for which the workspace may have budgets, each with the minimum amount to leave in them. */
  readonly tags: readonly {
    readonly name: string;
    readonly value: string;
    readonly besidesUsd: string;
    /**
     * Minimum amount to leave in the shared account, which pays for values without an individual account; empty means
     * the same as `besidesUsd`.
     */
    readonly sharedBesidesUsd: string;
  }[];
}

/** Decision about a reservation, with the budget closest to exhaustion; `budget` is absent when no budget applies. */
export interface ReservationResult {
  readonly admitted: boolean;
  readonly budget?: BudgetScope;
  /** Id of the guardrail that has the budget. */
  readonly guardrailId?: string;
  /** Limit of the budget in USD as a decimal. */
  readonly limitUsd?: string;
  /** Amount that was neither spent nor reserved before this reservation. */
  readonly remainingUsd?: string;
  /** Amount reserved for other calls. */
  readonly heldUsd?: string;
  /** Whether only reserved amounts caused the refusal: the amount spent so far would let the call pass. */
  readonly held: boolean;
  /** Tag whose budget decided, such as `project=apollo`. */
  readonly tag?: string;
  /** Reset interval of a tag's budget; empty for a budget that never resets. */
  readonly limitReset?: string;
}

/** Decides on reservations in their order, in a single transaction. */
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

/**
 * Opens accounts for tag values in a transaction. Only admitted calls open accounts, so a caller whose calls are
 * refused cannot use up the number of accounts.
 */
class Places {
  readonly opened = new Map<string, TagAccount>();
  readonly #free: Map<string, number>;
  #taken: TagAccount[] = [];

  /** @param free number of accounts that each workspace may still open */
  constructor(free: Map<string, number>) {
    this.#free = free;
  }

  /**
   * Requests an account for the call being decided. @returns false when no more accounts may be opened, so the shared
   * account pays
   */
  take(account: TagAccount): boolean {
    if (this.opened.has(placeName(account))) return true;
    const free = this.#free.get(account.workspaceId) ?? 0;
    if (free <= this.#taken.length) return false;
    this.#taken.push(account);
    return true;
  }

  /** Ends the decision on a call: its requested accounts are opened if the call is admitted. */
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

/**
 * Locks workspaces, so the reservations of each run one after the other. This is a separate statement, so the
 * next one sees what the previous lock holder committed.
 */
async function lockWorkspaces(transaction: Transaction<Database>, keyHashes: readonly string[]): Promise<void> {
  await sql`
    select pg_advisory_xact_lock(hashtextextended(id, 0)) from (
      select distinct workspace_id::text as id from api_keys where hash = any(${keyHashes}::text[]) order by 1
    ) as named`.execute(transaction);
}

/**
 * Decides whether an amount fits into all budgets. A refusal names the exhausted budget, or else the budget with the
 * smallest free amount.
 */
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

/** The tag accounts that pay for a call, by tag name, as JSON; null for none. */
function tagAccountsIn(accounts: readonly Account[]): string | null {
  const named = accounts.flatMap(({ tag }) => (tag ? [[tag.name, tag.account] as const] : []));
  return named.length === 0 ? null : JSON.stringify(Object.fromEntries(named));
}

const leastFree = (accounts: readonly Account[]): Account =>
  accounts.reduce((least, account) => (free(account) < free(least) ? account : least));

/** An admitted reservation with its tag accounts as JSON. */
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
  /** New amount of the reservation in USD as a decimal. */
  readonly amountUsd: string;
}

/**
 * Raises a reservation above the worst case of its call, even beyond the budget, because the money is already spent.
 */
export async function raiseReservation(
  database: Kysely<Database>,
  { turnId, attempt, amountUsd }: ReservationRaise,
): Promise<void> {
  await sql`
    update budget_reservations
    set amount_usd = greatest(amount_usd, ${amountUsd}::numeric), expires_at = now() + make_interval(mins => ${holdMinutes})
    where turn_id = ${turnId}::uuid and attempt = ${attempt} and not is_settled`.execute(database);
}

/** Releases reservations of calls that were never made. */
export async function dropReservations(database: Kysely<Database>, dropped: readonly ReservedCall[]): Promise<void> {
  const turns = dropped.map(({ turnId }) => turnId);
  const attempts = dropped.map(({ attempt }) => attempt);
  await sql`
    delete from budget_reservations as held using unnest(${turns}::uuid[], ${attempts}::smallint[]) as dropped (turn_id, attempt)
    where held.turn_id = dropped.turn_id and held.attempt = dropped.attempt`.execute(database);
}
