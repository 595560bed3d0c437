/** Signals that stop a turn, with only the needed part of AbortSignal, at a fraction of its cost. */

/** A signal that stops a turn. Every AbortSignal has this type, so tests and other handlers can pass one. */
export interface TurnSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Work that can be cancelled. */
export interface Cancellable {
  readonly signal: TurnSignal;
  /** Cancels the work. @param reason a Fault becomes the turn's failure; any other reason means that no client waits for the turn any more */
  cancel(reason: unknown): void;
}

/**
 * Replaces AbortController, which takes a twentieth of the time of a small turn: it makes an EventTarget with a Map,
 * and more for every listener.
 */
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
