/**
 * Local causes, such as a full disk, that stop or slow down a process. Each is checked once a second, even without
 * traffic, so a process is ready again within a second of the repair.
 */
import type { Logger } from "../log/log.ts";

const lookMs = 1_000;

/** Possible hindrances of a process; docs/operate/hindrances.md explains each. */
export type Cause = "spool" | "policy" | "descriptors" | "memory" | "configuration" | "egress";

export interface Hindrance {
  readonly cause: Cause;
  /** Reason as a text for operators, without paths, addresses or secrets. */
  readonly reason: string;
  /** Whether the process still works, though less well than others, and stays ready. */
  readonly isPartial: boolean;
}

/** Checks for a problem; undefined when there is none. */
export type CheckHindrance = () => HindranceFinding | undefined | Promise<HindranceFinding | undefined>;
export type HindranceFinding = Pick<Hindrance, "reason" | "isPartial">;

interface Watched {
  readonly look: CheckHindrance;
  found: HindranceFinding | undefined;
  isLooking: boolean;
}

export class Hindrances {
  readonly #log: Pick<Logger, "info" | "error">;
  readonly #watched = new Map<Cause, Watched>();
  readonly #watchers = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  /**
   * The most severe current cause: one that stops all work comes before one that only slows it down. Every turn reads
   * it, though it seldom changes.
   */
  current: Hindrance | undefined;
  /** The cause that stops all work of the process; undefined while it can work. */
  whole: Hindrance | undefined;

  constructor(log: Pick<Logger, "info" | "error">) {
    this.#log = log;
  }

  /** All watched causes with their last results. */
  *[Symbol.iterator](): Iterator<readonly [Cause, HindranceFinding | undefined]> {
    for (const [cause, { found }] of this.#watched) yield [cause, found];
  }

  /** Checks a cause once a second from now on. @param found result before the first check */
  watch(cause: Cause, look: CheckHindrance, found?: HindranceFinding): void {
    this.#watched.set(cause, { look, found, isLooking: false });
    this.#timer ??= setInterval(() => {
      for (const each of this.#watched.keys()) void this.look(each);
    }, lookMs).unref();
    if (found) this.#changed();
  }

  /** Checks a cause at once, after an event that may be due to it. Never rejects. */
  async look(cause: Cause): Promise<void> {
    const watched = this.#watched.get(cause);
    if (!watched || watched.isLooking) return;
    watched.isLooking = true;
    try {
      this.#note(cause, watched, await watched.look());
    } finally {
      watched.isLooking = false;
    }
  }

  /** Records a result that was found by trying to work. */
  found(cause: Cause, found: HindranceFinding): void {
    const watched = this.#watched.get(cause);
    if (watched && !watched.found) this.#note(cause, watched, found);
  }

  /** Sets a watcher that is called at every change. */
  onChange(watcher: () => void): void {
    this.#watchers.add(watcher);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #note(cause: Cause, watched: Watched, found: HindranceFinding | undefined): void {
    const before = watched.found;
    watched.found = found;
    if (before?.reason === found?.reason && before?.isPartial === found?.isPartial) return;
    if (!found) this.#log.info({ cause }, "a hindrance is over");
    else if (!before || before.isPartial !== found.isPartial)
      this.#log.error({ cause, reason: found.reason, partial: found.isPartial }, "this process is hindered");
    this.#changed();
  }

  #changed(): void {
    const found = [...this.#watched].flatMap(([cause, watched]) => (watched.found ? { cause, ...watched.found } : []));
    this.whole = found.find(({ isPartial }) => !isPartial);
    this.current = this.whole ?? found[0];
    for (const watcher of this.#watchers) watcher();
  }
}
