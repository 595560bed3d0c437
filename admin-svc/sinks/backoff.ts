/** Waits between attempts to deliver a message to a sink. */

const firstMs = 1_000;
const maxMs = 15 * 60_000;

/**
 * Wait in milliseconds, doubled with each attempt up to a quarter of an hour. Half of it is random, so processes
 * do not retry simultaneously.
 */
export const backoffMs = (attempts: number): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(attempts - 1, 20)) * (0.5 + Math.random() / 2);
