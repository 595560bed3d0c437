/** Waiting that ends with its turn. */
import { abortFault, throwIfAborted } from "./abort.ts";
import type { TurnSignal } from "./signal.ts";

/** @throws Fault as soon as the turn is over */
export function pause(ms: number, signal: TurnSignal): Promise<void> {
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
