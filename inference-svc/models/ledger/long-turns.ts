/**
 * Turns of this process that may make further calls. From the first call of such a turn on, an amount is kept for its
 * further calls that new turns cannot spend: otherwise many such turns would start and be paid for, and none could
 * finish.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { TagBudget } from "../../turn/tag-budgets.ts";
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";
import type { TagAccounts } from "./tag-accounts.ts";

/** Number of further calls, each of the size of the first, for which money is kept. */
const callsAhead = 2n;

/** The owners of the budgets that pay for a turn. */
export interface Owner extends Pick<Caller, "keyHash" | "workspaceId"> {
  /** Budgets of the turn's tags; undefined when there are none. */
  readonly tagBudgets?: readonly TagBudget[] | undefined;
}

export interface LongTurn {
  readonly owner: Owner;
  /** Whether a call of the turn was admitted. */
  isBegun: boolean;
  /** Whether the turn has ended. */
  isOver: boolean;
  /** Number of the turn's calls requested and not decided. */
  requestCall: number;
  /** Amount in 10^-12 USD kept for further calls of the turn. */
  ahead: bigint;
  /** Accounts of tags from which the amount is kept; undefined when there are none. */
  tagAccounts: readonly string[] | undefined;
}

export class LongTurns {
  readonly #tagAccounts: TagAccounts;
  readonly #turns = new SlotMap<string, LongTurn>();
  /** Sums of kept amounts, by the owner of the budget: hash of a key, id of a workspace or name of a tag's account. */
  readonly #ahead = new Map<string, bigint>();

  constructor(tagAccounts: TagAccounts) {
    this.#tagAccounts = tagAccounts;
  }

  /** @param name id of the turn, which its calls know @returns a function that ends the turn */
  begin(name: string, owner: Owner): () => void {
    const turn = { owner, isBegun: false, isOver: false, requestCall: 0, ahead: 0n, tagAccounts: undefined };
    this.#turns.set(name, turn);
    return () => {
      turn.isOver = true;
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
      this.#giveUp(turn);
    };
  }

  find(name: string): LongTurn | undefined {
    return this.#turns.get(name);
  }

  /**
   * Amount that must remain in a budget after a call: the amounts kept for started turns, and for further calls of the
   * call's own turn. 0 for a call of a started turn, and if no amount is kept.
   * @param shared account that pays instead of the owner's; turns of the owner may not know yet that it does
   */
  besides(owner: string, pico: bigint, turn: LongTurn | undefined, shared?: string): bigint {
    if (turn?.isBegun === true) return 0n;
    const isShared = shared !== undefined && shared !== owner;
    const others = this.#keptFrom(owner, turn) + (isShared ? this.#keptFrom(shared, turn) : 0n);
    return others > 0n && turn ? others + callsAhead * pico : others;
  }

  /** Amount kept in an account for turns other than this one. */
  #keptFrom(owner: string, turn: LongTurn | undefined): bigint {
    const kept = this.#ahead.get(owner) ?? 0n;
    if (turn === undefined || turn.ahead === 0n) return kept;
    const { keyHash, workspaceId } = turn.owner;
    const isKeptHere = owner === keyHash || owner === workspaceId || turn.tagAccounts?.includes(owner) === true;
    return isKeptHere ? kept - turn.ahead : kept;
  }

  /** Requests a call of the turn. The amount for further calls is kept from the request on, because other calls are requested concurrently. */
  async requestCall<Answer extends { readonly admitted: boolean }>(
    turn: LongTurn,
    pico: bigint,
    response: Promise<Answer>,
  ): Promise<Answer> {
    if (!turn.isBegun && !turn.isOver && turn.requestCall === 0) this.#keepFrom(turn, callsAhead * pico);
    turn.requestCall++;
    try {
      const answer = await response;
      turn.isBegun ||= answer.admitted;
      return answer;
    } finally {
      turn.requestCall--;
      if (!turn.isBegun && turn.requestCall === 0) this.#giveUp(turn);
    }
  }

  /** Keeps the amount for the turn's further calls in the accounts that are now known to pay for its tags. */
  moveKept(turn: LongTurn): void {
    const { ahead } = turn;
    if (ahead === 0n) return;
    this.#giveUp(turn);
    this.#keepFrom(turn, ahead);
  }

  #keepFrom(turn: LongTurn, pico: bigint): void {
    turn.tagAccounts = turn.owner.tagBudgets?.map((tag) => this.#tagAccounts.accountOf(tag));
    this.#keep(turn, pico);
  }

  #keep(turn: LongTurn, pico: bigint): void {
    turn.ahead += pico;
    this.#add(turn.owner.keyHash, pico);
    this.#add(turn.owner.workspaceId, pico);
    if (turn.tagAccounts) for (const account of turn.tagAccounts) this.#add(account, pico);
  }

  #add(owner: string, pico: bigint): void {
    const sum = (this.#ahead.get(owner) ?? 0n) + pico;
    if (sum > 0n) this.#ahead.set(owner, sum);
    else this.#ahead.delete(owner);
  }

  #giveUp(turn: LongTurn): void {
    if (turn.ahead > 0n) this.#keep(turn, -turn.ahead);
  }
}
