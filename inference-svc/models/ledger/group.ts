/** Starts, ends and charges of calls written to disk by one write, and the calls waiting for that write. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** A call whose start is being written. */
export interface UnwrittenCall {
  /** Called once, in a microtask after the write. @param failure undefined when the start is on the disk */
  written(failure: Fault | undefined): void;
}

export class Group {
  readonly starts: UnwrittenCall[] = [];
  readonly ends: string[] = [];
  /** Number of charges for calls started earlier. */
  charges = 0;
  isSettled = false;
  failure: Fault | undefined;

  /** @param failure of the write; undefined when it succeeded */
  settle(failure: Fault | undefined): void {
    this.isSettled = true;
    this.failure = failure;
    // The calls begin apart from the cause of the write, such as a message to the client of another call.
    if (this.starts.length > 0) queueMicrotask(this.#notifyCallers);
  }

  readonly #notifyCallers = (): void => {
    for (const start of this.starts) {
      try {
        start.written(this.failure);
      } catch (error) {
        // The other calls of the group must not wait for ever.
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
