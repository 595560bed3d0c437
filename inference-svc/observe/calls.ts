/** Calls to providers, watched where they are written down: there each begins once, and ends once. */
import type { CallLedger } from "../ledger/ledger.ts";
import type { Closed, Opened } from "../ledger/record.ts";
import type { Scope } from "../turn/scope.ts";

/** What it returns hears of the end, once. */
export type CallObserver = (opened: Opened, scope: Scope) => (closed: Closed) => void;

export const watched = (ledger: CallLedger, observers: readonly CallObserver[]): CallLedger => ({
  open(opened, scope) {
    const entry = ledger.open(opened, scope);
    const ends = observers.map((observer) => observer(opened, scope));
    let over = false;
    return {
      close(closed) {
        if (over) return;
        over = true;
        entry.close(closed);
        for (const end of ends) end(closed);
      },
    };
  },
});
