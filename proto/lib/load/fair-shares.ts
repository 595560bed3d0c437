/**
 * Divides the time of an event loop between keys.
 *
 * Work is done at once while the current turn of the event loop has time left. The rest waits in a queue per key, and the least served key is next: a key
 * with a single piece of work waits for about one slice, however much work the other keys have.
 */

/** Time for work of this kind per turn of the event loop. All sockets and timers wait until it ends. */
const sliceMs = 5;
/** A piece of work up to this duration is charged its duration: reading the processor time takes a microsecond, and a piece often only some ten. */
const exactMs = 1;
/**
 * A longer piece is charged the processor time of the process since its slice began, but at least this part of its duration and at most all of it. Some
 * systems count processor time in steps of ten milliseconds.
 */
const minCharge = 0.1;
/** Longest rest after long work. Small requests of others take about this long in a busy process. */
const maxRestMs = 50;
/** Turns of the event loop in each rest, at least: small requests of others wait for it about so often. A process without processor time may get no more. */
export const minRestTurns = 5;
/** Idle shares are searched and removed above this number. */
const sweepFrom = 1_024;

type Work = () => void;

interface Share {
  readonly waiting: Work[];
  /** Virtual time: milliseconds charged to the key, or the others' level at its return. */
  servedMs: number;
}

export interface FairSharesOptions {
  /** Clock in milliseconds. */
  readonly now?: () => number;
  /** Processor time of this process so far, in milliseconds. */
  readonly used?: () => number;
  /** Whether each slice is followed by a rest of the same duration, up to 50 ms. */
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
  /** Milliseconds charged in this turn of the event loop. */
  #chargedMs = 0;
  /** `servedMs` of the share chosen last. */
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

  /** Whether work may be done at once: never, where there are rests. Otherwise use `wait`, which runs it when its key is next. */
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

  /** Settles when the key is next; undefined when work may be done at once. */
  turnOf(key: string): Promise<void> | undefined {
    return this.hasTime() ? undefined : new Promise((resolve) => this.wait(key, resolve));
  }

  #shareOf(key: string): Share {
    let share = this.#shares.get(key);
    if (!share) {
      if (this.#shares.size >= sweepFrom) this.#sweep();
      this.#shares.set(key, (share = { waiting: [], servedMs: this.#clockMs }));
    }
    // An idle key saves up no time.
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

  /** Time in which the machine runs other processes is charged to no key: a key charged with it waited for seconds. */
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

  /** The next piece begins after all ticks and promises caused by the last one, because they are part of its time. */
  readonly #afterTicks = (): void => queueMicrotask(this.#afterPromises);
  readonly #afterPromises = (): void => process.nextTick(this.#serve);

  /** No work waits: all keys are equal again. */
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

/** The shares of this process, by key hash. */
export const eventLoop = new FairShares();

/** UTF-16 units of a text of others that is parsed in the time for long work: a shorter one takes some ten milliseconds at most. */
export const longText = 256 * 1024;

/**
 * Work of up to some hundred milliseconds that cannot be interrupted, such as parsing a long text. In the rest after each piece everything else goes on:
 * with a single turn of the event loop in between, small requests of other keys waited for five to ten such pieces.
 */
export const longWork = new FairShares({ rests: true });
