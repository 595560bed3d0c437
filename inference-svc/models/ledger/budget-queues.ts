/**
 * Queues of calls waiting for amounts held for other calls. A call that can be paid in a moment should wait rather than
 * be refused: a client that retries later finds the money held again. Only the first call of a queue retries. Calls of
 * started turns come first, because refusing one wastes what was already paid for its turn.
 */
import type { TurnSignal } from "../../turn/signal.ts";
import type { Owner } from "./long-turns.ts";

/** Maximum milliseconds the first call of a turn waits. */
const newTurnMs = 1_000;
/** Maximum milliseconds a call of a turn already under way waits for room in a budget. Other calls of the key can end meanwhile. */
const begunTurnMs = 30_000;
/**
 * Milliseconds before the first call of a queue retries; they get longer each time. Costs of calls in other processes
 * become visible only by a retry.
 */
const pollMs = 100;
/** Maximum number of new turns per queue: with more of them, the last would not be served in time. */
const maxNewTurns = 32;

interface Waiter {
  readonly isBegun: boolean;
  wake: () => void;
}

export interface HoldWait {
  readonly isBegun: boolean;
  readonly signal: TurnSignal | undefined;
}

export class BudgetQueues<Answer extends { readonly held: boolean }> {
  readonly #lines = new Map<string, Waiter[]>();

  /** Lets the first call of each queue at the budgets of this key, its workspace and the accounts of these tags retry at once. */
  wake({ keyHash, workspaceId, tagBudgets }: Owner): void {
    this.#lines.get(keyHash)?.[0]?.wake();
    this.#lines.get(workspaceId)?.[0]?.wake();
    if (!tagBudgets) return;
    for (const { owner, shared } of tagBudgets) {
      this.#lines.get(owner)?.[0]?.wake();
      if (shared !== undefined) this.#lines.get(shared)?.[0]?.wake();
    }
  }

  /**
   * Waits until the decision no longer depends on amounts held for other calls, or until the maximum wait of such a
   * call.
   * @param owner owner of the budget without room: hash of the key, id of the workspace or name of a tag's account
   * @param refusal decision about the call so far
   * @param reserve requests the decision again
   * @returns the last decision
   */
  async wait(
    owner: string,
    { isBegun, signal }: HoldWait,
    refusal: Answer,
    reserve: () => Promise<Answer>,
  ): Promise<Answer> {
    const line = this.#lines.get(owner) ?? [];
    if (!isBegun && line.length >= maxNewTurns) return refusal;
    this.#lines.set(owner, line);
    const waiter: Waiter = { isBegun, wake: () => {} };
    line.splice(isBegun ? countBegun(line) : line.length, 0, waiter);
    const until = performance.now() + (isBegun ? begunTurnMs : newTurnMs);
    const isOver = () => performance.now() >= until || signal?.aborted === true;
    try {
      let answer = refusal;
      for (let attempts = 1; answer.held && !isOver(); ) {
        const pollAfterMs = line[0] === waiter ? attempts * pollMs * (0.5 + Math.random()) : Number.POSITIVE_INFINITY;
        await pause(waiter, Math.min(pollAfterMs, until - performance.now()), signal);
        if (line[0] !== waiter) continue;
        answer = await reserve();
        attempts++;
      }
      return answer;
    } finally {
      line.splice(line.indexOf(waiter), 1);
      if (line.length === 0) this.#lines.delete(owner);
      else line[0]?.wake();
    }
  }
}

const countBegun = (line: readonly Waiter[]): number => line.filter(({ isBegun }) => isBegun).length;

function pause(waiter: Waiter, ms: number, signal: TurnSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", over);
      waiter.wake = () => {};
      resolve();
    };
    const timer = setTimeout(over, Math.max(0, ms));
    signal?.addEventListener("abort", over);
    waiter.wake = over;
  });
}
