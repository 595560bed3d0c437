/** Waiting times between attempts to deliver something to a sink. */

const firstMs = 1_000;
const maxMs = 15 * 60_000;

/** Doubles with each attempt up to a quarter of an hour; half of it is random, so processes do not retry all at once. */
export const backoffMs = (attempts: number): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(attempts - 1, 20)) * (0.5 + Math.random() / 2);
