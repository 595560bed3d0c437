/** The amount of a warm-up: enough steps to compile everything that every request runs, in an acceptable time for a start. */

/** After some three thousand turns, in two rounds, the processor time of a turn hardly decreases any more. */
const maxSteps = 1_500;
/** Enough for several turns in one batch, as under load; few enough for the path of a single turn. */
const concurrency = 4;

/** Repeats a step until the time is over. @param step receives its number, from 0 */
export async function repeat(limitMs: number, step: (number: number) => Promise<void>): Promise<void> {
  const end = performance.now() + limitMs;
  let next = 0;
  const run = async () => {
    while (next < maxSteps && performance.now() < end) await step(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, run));
}
