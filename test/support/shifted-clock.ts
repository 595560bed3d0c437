/** Loaded by a process before anything else: shifts its clock by CLOCK_SHIFT_MS milliseconds. The monotonic clock and timers stay unchanged. */

const shiftMs = Number(process.env["CLOCK_SHIFT_MS"]);
const { now } = Date;
const shifted = () => now() + shiftMs;

globalThis.Date = new Proxy(Date, {
  construct: (target, given: unknown[], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [shifted()] : given, newTarget) as Date,
  apply: (target) => new target(shifted()).toString(),
  get: (target, name, receiver) => (name === "now" ? shifted : Reflect.get(target, name, receiver)) as unknown,
});
