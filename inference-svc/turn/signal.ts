/** Signals for stopping a turn: the parts of AbortSignal used here, at a fraction of its cost. */

/** Every AbortSignal fits, so tests and other handlers can bring their own. */
export interface TurnSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Cancellable work. */
export interface Cancellable {
  readonly signal: TurnSignal;
  /** @param reason a Fault becomes the turn's failure; any other reason means no client is waiting for the turn any more */
  cancel(reason: unknown): void;
}

/** Replaces AbortController, which costs a twentieth of a small turn: an EventTarget with a Map, and more for every listener. */
export class TurnAbort implements TurnSignal {
  aborted = false;
  reason: unknown;
  #listeners: (() => void)[] = [];

  /** Calls each listener once. Listeners added afterwards are never called. */
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
