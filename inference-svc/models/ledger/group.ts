/** Lines of the ledger that one write puts on disk, and the calls that wait for it. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** A call whose start is about to be written. */
export interface UnwrittenCall {
  /** Called once, in a microtask after the write. @param failure undefined when the start is on disk */
  written(failure: Fault | undefined): void;
}

export class Group {
  readonly starts: UnwrittenCall[] = [];
  readonly ends: string[] = [];
  /** Number of charges for calls that started in an earlier group. */
  charges = 0;
  isSettled = false;
  failure: Fault | undefined;

  /** Reports the outcome of the write. @param failure undefined when the write succeeded */
  settle(failure: Fault | undefined): void {
    this.isSettled = true;
    this.failure = failure;
    // The calls begin in a microtask, apart from what caused the write, such as a message to the client of another
    // call.
    if (this.starts.length > 0) queueMicrotask(this.#notifyCallers);
  }

  readonly #notifyCallers = (): void => {
    for (const start of this.starts) {
      try {
        start.written(this.failure);
      } catch (error) {
        // An error in one call must not keep the other calls of the group waiting.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  };
}

export const ledgerUnavailable = (cause: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "Usage cannot be recorded at the moment", {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: 1_000,
    cause,
  });
