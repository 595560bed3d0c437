/**
 * Decides how long a warm-up runs: until everything that requests commonly run is compiled, in an acceptable time for a
 * start.
 */

/**
 * Maximum number of steps in a round: after some three thousand turns, in two rounds, the processor time of a turn
 * hardly decreases any more.
 */
const maxSteps = 1_500;
/**
 * Number of concurrent steps: enough for several turns in one batch, as under load, and few enough for the path of a
 * single turn.
 */
const concurrency = 4;

/** Repeats a step until the time is over. @param step receives its number, counted from 0 */
export async function repeat(limitMs: number, step: (number: number) => Promise<void>): Promise<void> {
  const end = performance.now() + limitMs;
  let next = 0;
  const run = async () => {
    while (next < maxSteps && performance.now() < end) await step(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, run));
}
