/**
 * Turns of this process that may make further calls. From its first call on an amount is kept for the others of each, which no new turn is
 * granted: otherwise a crowd of such turns would all be begun and paid for, and none could be ended.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";

/** Further calls of the size of its first that are kept for a turn. */
const callsAhead = 2n;

export type Owner = Pick<Caller, "keyHash" | "workspaceId">;

export interface LongTurn {
  readonly owner: Owner;
  /** Whether a call of it was admitted. */
  isBegun: boolean;
  /** Whether it has ended. */
  isOver: boolean;
  /** Number of calls that were asked for and are not decided. */
  asking: number;
  /** Amount in 10^-12 USD that is kept for its further calls. */
  ahead: bigint;
}

export class LongTurns {
  readonly #turns = new Map<string, LongTurn>();
  /** Sums of what is kept, by the hashes of keys and by the ids of workspaces. */
  readonly #ahead = new Map<string, bigint>();

  /** @param name of the turn, which its calls know. @returns ends the turn */
  begin(name: string, { keyHash, workspaceId }: Owner): () => void {
    const turn = { owner: { keyHash, workspaceId }, isBegun: false, isOver: false, asking: 0, ahead: 0n };
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
   * The amount that has to remain of a budget of this owner beside a call, for turns that have begun and for its own; 0 for a call of a turn that
   * has begun, and where there is no such turn.
   */
  besides(owner: string, pico: bigint, turn: LongTurn | undefined): bigint {
    if (turn?.isBegun === true) return 0n;
    const others = (this.#ahead.get(owner) ?? 0n) - (turn?.ahead ?? 0n);
    return others > 0n && turn ? others + callsAhead * pico : others;
  }

  /** Asks for a call of the turn. What is kept for its further calls counts from the question on, because others are asked beside it. */
  async asking<Answer extends { readonly admitted: boolean }>(
    turn: LongTurn,
    pico: bigint,
    asked: Promise<Answer>,
  ): Promise<Answer> {
    if (!turn.isBegun && !turn.isOver && turn.asking === 0) this.#keep(turn, callsAhead * pico);
    turn.asking++;
    try {
      const answer = await asked;
      turn.isBegun ||= answer.admitted;
      return answer;
    } finally {
      turn.asking--;
      if (!turn.isBegun && turn.asking === 0) this.#giveUp(turn);
    }
  }

  #keep(turn: LongTurn, pico: bigint): void {
    turn.ahead += pico;
    for (const owner of [turn.owner.keyHash, turn.owner.workspaceId]) {
      const sum = (this.#ahead.get(owner) ?? 0n) + pico;
      if (sum > 0n) this.#ahead.set(owner, sum);
      else this.#ahead.delete(owner);
    }
  }

  #giveUp(turn: LongTurn): void {
    if (turn.ahead > 0n) this.#keep(turn, -turn.ahead);
  }
}
