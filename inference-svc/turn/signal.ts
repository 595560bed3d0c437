/** How a turn is told to stop: what of an AbortSignal the rooms use, at a fraction of its price. */

/** Every AbortSignal is one, so that other doors and tests bring their own. */
export interface TurnSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** What is under way and can be told to stop. */
export interface Cancellable {
  readonly signal: TurnSignal;
  /** @param reason a Fault is what the turn fails with; anything else says that nobody waits for it any more */
  cancel(reason: unknown): void;
}

/** A real AbortController costs a twentieth of a small turn: an EventTarget with a Map, and more for every listener. */
export class TurnAbort implements TurnSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] = [];

  /** Each listener is called once; what is added afterwards never is. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }

  addEventListener(_type: "abort", listener: () => void): void {
    if (!this.aborted) this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at !== -1) this.#listeners.splice(at, 1);
  }
}
