/** The failure of a turn ended from outside: by the client, a deadline or the end of the process. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { TurnSignal } from "./signal.ts";

/** The fault given as abort reason, or a general fault for any other reason. */
export const abortFault = (signal: TurnSignal): Fault =>
  signal.reason instanceof Fault
    ? signal.reason
    : new Fault(FaultReason.DEADLINE_EXCEEDED, "The turn was ended", { cause: signal.reason });

/** Called before new work for a turn begins. @throws Fault when the turn is over */
export function throwIfAborted(signal: TurnSignal): void {
  if (signal.aborted) throw abortFault(signal);
}

/** @throws Fault as soon as the turn is over */
export function waitUnlessAborted(ms: number, signal: TurnSignal): Promise<void> {
  throwIfAborted(signal);
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(abortFault(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop);
  });
}
