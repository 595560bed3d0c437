/** The failure of a turn that was ended from outside: by the client, a deadline or the end of the process. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { TurnSignal } from "./signal.ts";

/** The reason given to `abort()` if that is a fault. */
export const abortFault = (signal: TurnSignal): Fault =>
  signal.reason instanceof Fault
    ? signal.reason
    : new Fault(FaultReason.DEADLINE_EXCEEDED, "The turn was ended", { cause: signal.reason });

/** @throws Fault when the turn is over: nothing new may begin for it */
export function throwIfAborted(signal: TurnSignal): void {
  if (signal.aborted) throw abortFault(signal);
}
