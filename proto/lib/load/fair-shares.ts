/**
 * Divides the time of the event loop between keys.
 *
 * Work runs at once while the current turn of the event loop has time left. Other work waits in a queue per key, and
 * the key served least is next: a key with a single piece of work waits for about one slice, however much work other
 * keys have.
 */

/** Milliseconds for such work per turn of the event loop, during which all sockets and timers wait. */
const sliceMs = 5;
/**
 * Milliseconds up to which a piece of work is charged its duration: to read the processor time takes a microsecond, and
 * a piece often only some ten.
 */
const exactMs = 1;
/**
 * A longer piece is charged the processor time of the process since its slice began, but at least this part of its
 * duration and at most all of it, because some systems count processor time in steps of ten milliseconds.
 */
const minCharge = 0.1;
/** Maximum rest in milliseconds after long work. Small requests of others take about this long in a busy process. */
const maxRestMs = 50;
/**
 * Minimum number of event loop turns in each rest, about as many as small requests of others need. A process that gets
 * no processor time may have no more.
 */
export const minRestTurns = 5;
/** Number of shares above which idle ones are removed. */
const sweepFrom = 1_024;

type Work = () => void;

interface Share {
  readonly waiting: Work[];
  /**
   * Virtual time in milliseconds: what the key was charged, raised to the level of the others when it returns after a
   * pause.
   */
  servedMs: number;
}

export interface FairSharesOptions {
  /** Returns the time in milliseconds. */
  readonly now?: () => number;
  /** Returns the processor time of this process so far, in milliseconds. */
  readonly used?: () => number;
  /** Whether each slice is followed by a rest of the same duration, at most 50 ms. */
  readonly rests?: boolean;
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

export class FairShares {
  readonly #now: () => number;
  readonly #used: () => number;
  readonly #rests: boolean;
  readonly #shares = new Map<string, Share>();
  /** Number of waiting pieces of work. */
  #waiting = 0;
  /** Start of the current slice; undefined between slices. */
  #sliceBeganAt: number | undefined;
  /** Milliseconds charged in the current turn of the event loop. */
  #chargedMs = 0;
  /** `servedMs` of the share that was chosen last. */
  #clockMs = 0;
  /** Processor time of the process at the start of the slice. */
  #usedBefore = 0;
  #running: Share | undefined;
  #runningSince = 0;

  constructor({ now = () => performance.now(), used = processorMs, rests = false }: FairSharesOptions = {}) {
    this.#now = now;
    this.#used = used;
    this.#rests = rests;
  }

  /** Number of waiting pieces of work. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Whether work may run at once; never for shares with rests. Otherwise call `wait`, which runs the work when its key
   * is next.
   */
  hasTime(): boolean {
    if (this.#rests || this.#waiting > 0) return false;
    if (this.#sliceBeganAt !== undefined) return this.#now() - this.#sliceBeganAt < sliceMs;
    this.#sliceBeganAt = this.#now();
    setImmediate(this.#nextSlice);
    return true;
  }

  /** @param work must not throw; work of the same key runs in the order of the calls */
  wait(key: string, work: Work): void {
    const share = this.#shareOf(key);
    share.waiting.push(work);
    this.#waiting++;
    if (this.#sliceBeganAt !== undefined) return;
    this.#sliceBeganAt = this.#now();
    setImmediate(this.#nextSlice);
  }

  /** Settles when the key is next; undefined when its work may run at once. */
  turnOf(key: string): Promise<void> | undefined {
    return this.hasTime() ? undefined : new Promise((resolve) => this.wait(key, resolve));
  }

  #shareOf(key: string): Share {
    let share = this.#shares.get(key);
    if (!share) {
      if (this.#shares.size >= sweepFrom) this.#sweep();
      this.#shares.set(key, (share = { waiting: [], servedMs: this.#clockMs }));
    }
    // A key that was idle has no saved time.
    if (share.waiting.length === 0) share.servedMs = Math.max(share.servedMs, this.#clockMs);
    return share;
  }

  readonly #nextSlice = (): void => {
    this.#sliceBeganAt = undefined;
    if (this.#waiting === 0) return;
    this.#sliceBeganAt = this.#now();
    this.#usedBefore = this.#used();
    this.#chargedMs = 0;
    this.#serve();
  };

  readonly #serve = (): void => {
    const now = this.#now();
    this.#charge(now);
    if (this.#waiting === 0) return this.#rest();
    if (this.#chargedMs >= sliceMs) return this.#endSlice();
    const share = this.#leastServed();
    this.#clockMs = share.servedMs;
    this.#running = share;
    this.#runningSince = now;
    this.#waiting--;
    try {
      (share.waiting.shift() as Work)();
    } finally {
      process.nextTick(this.#afterTicks);
    }
  };

  /**
   * Time in which the machine runs other processes is charged to no key: otherwise the charged key waited for seconds.
   */
  #charge(now: number): void {
    const share = this.#running;
    if (!share) return;
    this.#running = undefined;
    const tookMs = now - this.#runningSince;
    const chargedMs =
      tookMs <= exactMs ? tookMs : Math.max(minCharge * tookMs, Math.min(tookMs, this.#used() - this.#usedBefore));
    share.servedMs += chargedMs;
    this.#chargedMs += chargedMs;
  }

  /**
   * The next piece begins after all ticks and promises that the last one has caused, because they count as its time.
   */
  readonly #afterTicks = (): void => queueMicrotask(this.#afterPromises);
  readonly #afterPromises = (): void => process.nextTick(this.#serve);

  /** Removes all shares when no work waits, so all keys are equal again. */
  #rest(): void {
    this.#shares.clear();
    this.#clockMs = 0;
    this.#endSlice();
  }

  #endSlice(): void {
    if (this.#rests) setTimeout(this.#endRest, Math.min(this.#chargedMs, maxRestMs), minRestTurns);
    else setImmediate(this.#nextSlice);
  }

  readonly #endRest = (turns: number): void => {
    if (turns === 0) this.#nextSlice();
    else setImmediate(this.#endRest, turns - 1);
  };

  #leastServed(): Share {
    let least: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.waiting.length > 0 && (!least || share.servedMs < least.servedMs)) least = share;
    }
    return least as Share;
  }

  #sweep(): void {
    for (const [key, share] of this.#shares) {
      if (share.waiting.length === 0 && share.servedMs <= this.#clockMs) this.#shares.delete(key);
    }
  }
}

/** Shares of the event loop in this process, by key hash. */
export const eventLoop = new FairShares();

/**
 * Length in UTF-16 units from which parsing a client's or provider's text counts as long work; a shorter text takes
 * some ten milliseconds at most.
 */
export const longText = 256 * 1024;

/**
 * Shares for work of up to some hundred milliseconds that cannot be interrupted, such as parsing a long text. All other
 * work continues in the rest after each piece: with only a single turn of the event loop in between, small requests of
 * other keys waited for five to ten such pieces.
 */
export const longWork = new FairShares({ rests: true });
