/** Lets observers see calls to providers at the ledger, where each call begins once and ends once. */
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import type { CallLedger, LedgerEntry } from "../ledger.ts";
import type { CallCharge, CallEnd, CallStart } from "../record.ts";
import type { Scope } from "../../../turn/scope.ts";

/** One call, as an observer follows it. */
export interface ObservedCall {
  /** Called once, at the end of the call. */
  end(closed: CallEnd): void;
  /** Span of the call; absent when tracing is off. */
  readonly span?: Span;
}

export type CallObserver = (opened: CallStart, scope: Scope) => ObservedCall;

export const observeCalls = (ledger: CallLedger, observers: readonly CallObserver[]): CallLedger => ({
  open(opened, scope, onStarted) {
    const entry = ledger.open(opened, scope, onStarted);
    const calls: ObservedCall[] = [];
    let span: Span | undefined;
    for (const observer of observers) {
      const call = observer(opened, scope);
      calls.push(call);
      span ??= call.span;
    }
    return new ObservedEntry(entry, calls, span);
  },
});

/** The ledger entry of an observed call. A call that could not begin has no end, and observers neither count nor export it. */
class ObservedEntry implements LedgerEntry {
  readonly span: Span | undefined;
  readonly #entry: LedgerEntry;
  readonly #calls: readonly ObservedCall[];
  #isOver = false;

  constructor(entry: LedgerEntry, calls: readonly ObservedCall[], span: Span | undefined) {
    this.#entry = entry;
    this.#calls = calls;
    this.span = span;
  }

  note(noted: CallCharge): void {
    this.#entry.note(noted);
  }

  close(closed: CallEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#entry.close(closed);
    for (const call of this.#calls) call.end(closed);
  }
}
