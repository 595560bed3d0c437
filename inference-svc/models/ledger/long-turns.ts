/**
 * Turns of this process with possible further calls. From the first call on, an amount is kept for the further calls of each, out of reach of
 * new turns: otherwise a crowd of such turns would all start and be paid for, and none could finish.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { TagBudget } from "../../turn/tag-budgets.ts";
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";
import type { TagAccounts } from "./tag-accounts.ts";

/** Number of further calls, of the size of the first, to keep money for. */
const callsAhead = 2n;

/** The owners of the budgets from which a turn is paid. */
export interface Owner extends Pick<Caller, "keyHash" | "workspaceId"> {
  /** Undefined without any. */
  readonly tagBudgets?: readonly TagBudget[] | undefined;
}

export interface LongTurn {
  readonly owner: Owner;
  /** Whether a call of it was admitted. */
  isBegun: boolean;
  /** Whether it has ended. */
  isOver: boolean;
  /** Number of requested but undecided calls. */
  requestCall: number;
  /** Amount in 10^-12 USD kept for further calls of the turn. */
  ahead: bigint;
  /** Accounts of tags from which it is kept; undefined without any. */
  tagAccounts: readonly string[] | undefined;
}

export class LongTurns {
  readonly #tagAccounts: TagAccounts;
  readonly #turns = new SlotMap<string, LongTurn>();
  /** Sums of kept amounts, by the hashes of keys, the ids of workspaces and the names of accounts of tags. */
  readonly #ahead = new Map<string, bigint>();

  constructor(tagAccounts: TagAccounts) {
    this.#tagAccounts = tagAccounts;
  }

  /** @param name of the turn, known to its calls. @returns ends the turn */
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
   * Amount that must remain in a budget of this owner after a call: kept for started turns and for the turn's further calls. 0 for a call of a
   * started turn, and if no turn has an amount kept.
   * @param shared account that pays instead of the owner's; turns of the owner may not know yet that their amounts are kept from it
   */
  besides(owner: string, pico: bigint, turn: LongTurn | undefined, shared?: string): bigint {
    if (turn?.isBegun === true) return 0n;
    const isShared = shared !== undefined && shared !== owner;
    const others = this.#keptFrom(owner, turn) + (isShared ? this.#keptFrom(shared, turn) : 0n);
    return others > 0n && turn ? others + callsAhead * pico : others;
  }

  /** Amount kept from an account for turns other than this one. */
  #keptFrom(owner: string, turn: LongTurn | undefined): bigint {
    const kept = this.#ahead.get(owner) ?? 0n;
    if (turn === undefined || turn.ahead === 0n) return kept;
    const { keyHash, workspaceId } = turn.owner;
    const isKeptHere = owner === keyHash || owner === workspaceId || turn.tagAccounts?.includes(owner) === true;
    return isKeptHere ? kept - turn.ahead : kept;
  }

  /** Requests a call of the turn. The amount for its further calls is kept from the request on, because other calls are requested concurrently. */
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

  /** Keeps the amount for further calls of the turn from the accounts that are known now to pay for its tags. */
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
