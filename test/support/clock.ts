/** Claims about time that a slow machine cannot refute, and that code which waits for a timer cannot meet. */

/**
 * The shortest of several tries, in ms; the first below the limit is the last.
 * What else the machine does holds up some of them, a timer all: one that could bring the same about must be well above the limit.
 */
export async function shortest(limitMs: number, attempt: () => Promise<number>, tries = 30): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let n = 0; n < tries && best >= limitMs; n++) best = Math.min(best, await attempt());
  return best;
}

/** How long something takes, in ms. */
export async function took(work: () => unknown): Promise<number> {
  const at = performance.now();
  await work();
  return performance.now() - at;
}

/** Between eight, what linear work needs for eight times the size, and 64, what quadratic work needs. */
const linear = 24;

/** Whether eight times the size takes about eight times as long; what else the machine does may hold up some tries, not all. */
export async function isLinear(size: number, work: (size: number) => unknown): Promise<boolean> {
  let few = Number.POSITIVE_INFINITY;
  const attempt = async () => {
    few = Math.min(few, await took(() => work(size)));
    return (await took(() => work(8 * size))) / few;
  };
  // Compiled and warm before it counts.
  await attempt();
  return (await shortest(linear, attempt, 10)) < linear;
}

/** The figure once it has not moved for a while. */
export async function stalled(read: () => number): Promise<number> {
  for (let last = -1, same = 0; ; ) {
    const now = read();
    same = now === last ? same + 1 : 0;
    last = now;
    if (same === 10) return now;
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}
