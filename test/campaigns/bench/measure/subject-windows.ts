/** Windows of one load, sent to one subject after another, with the failures of all windows. */
import type { Bench } from "../bench.ts";
import type { LoadSubject } from "../subject.ts";
import type { RequestForm } from "../client/target.ts";
import type { OpenWindow } from "../roles/load.ts";
import type { Script } from "../script.ts";

export interface SubjectLoad {
  readonly script: Script;
  readonly connections: number;
  readonly spreadMs: number;
  readonly form?: RequestForm;
}

export interface SubjectWindow {
  /** Microseconds per unit, by process. */
  readonly eachUs: readonly number[];
  /** Microseconds per unit, over all these processes. */
  readonly us: number;
  /** Microseconds per unit, including the processes that store the records. */
  readonly wholeUs: number;
  readonly units: number;
  readonly perSecond: number;
  readonly firstMs: readonly number[];
  readonly foreignShare: number;
}

/** Maximum number of windows in a warm-up, however slow the machine is. */
const warmUpWindows = 6;

export class SubjectWindows {
  /** Number of failures, by subject and message. */
  readonly problems = new Map<string, number>();
  readonly #bench: Bench;
  readonly #load: SubjectLoad;

  constructor(bench: Bench, load: SubjectLoad) {
    this.#bench = bench;
    this.#load = load;
  }

  /** @param done amount of work in a window, compared with `enough` @returns the total amount, which is lower on a slow machine */
  async warmUp(subject: LoadSubject, enough: number, done: (window: SubjectWindow) => number): Promise<number> {
    let sum = 0;
    for (let left = warmUpWindows; left > 0; left--) {
      sum += done(await this.of(subject, this.#bench.pace.warmUpMs));
      if (sum >= enough) break;
    }
    return sum;
  }

  /** @param after called after the window, while the load continues */
  async of(
    { name, target, pids, recordPids }: LoadSubject,
    windowMs: number,
    after?: () => Promise<unknown>,
  ): Promise<SubjectWindow> {
    const { script, connections, spreadMs, form } = this.#load;
    const window = await this.#bench.load.call("openWindow", {
      target,
      script,
      connections,
      spreadMs,
      ...(form && { form }),
      rampMs: spreadMs + 300,
      windowMs,
      watched: [...pids, ...(recordPids?.() ?? [])],
      root: process.pid,
    });
    await after?.();
    for (const [problem, count] of await this.#bench.load.call("endLoad")) {
      this.problems.set(`${name}: ${problem}`, (this.problems.get(`${name}: ${problem}`) ?? 0) + count);
    }
    return windowOf(window, pids.length);
  }
}

/** @param requestProcesses number of the watched processes that serve requests; they come first in the list */
function windowOf(
  { watchedNs, units, durationMs, firstMs, foreignShare }: OpenWindow,
  requestProcesses: number,
): SubjectWindow {
  const watchedUs = watchedNs.map((ns) => ns / units / 1_000);
  const eachUs = watchedUs.slice(0, requestProcesses);
  const sum = (each: readonly number[]): number => each.reduce((all, us) => all + us, 0);
  return {
    eachUs,
    us: sum(eachUs),
    wholeUs: sum(watchedUs),
    units,
    perSecond: (units / durationMs) * 1_000,
    firstMs,
    foreignShare,
  };
}
