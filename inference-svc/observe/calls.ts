/** Calls to providers, watched where they are written down: there each begins once, and ends once. */
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import type { CallLedger } from "../ledger/ledger.ts";
import type { Closed, Opened } from "../ledger/record.ts";
import type { Scope } from "../turn/scope.ts";

/** One call, as somebody watches it. */
export interface WatchedCall {
  /** Hears of the end, once. */
  readonly end: (closed: Closed) => void;
  /** Of the call, where it is traced. */
  readonly span?: Span;
}

export type CallObserver = (opened: Opened, scope: Scope) => WatchedCall;

export const watched = (ledger: CallLedger, observers: readonly CallObserver[]): CallLedger => ({
  open(opened, scope) {
    const entry = ledger.open(opened, scope);
    const calls = observers.map((observer) => observer(opened, scope));
    const span = calls.find((call) => call.span)?.span;
    let over = false;
    return {
      ...(span && { span }),
      note: (noted) => entry.note(noted),
      close(closed) {
        if (over) return;
        over = true;
        entry.close(closed);
        for (const call of calls) call.end(closed);
      },
    };
  },
});
