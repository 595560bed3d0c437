/**
 * Time limits, such as those of requests, nearly always stopped before they are due: one timer of Node serves all of them.
 *
 * A limit is never reported early, and at most `tickMs` late unless the event loop is late. It keeps the process alive, as a timer of Node does.
 */

/** A shorter interval would make limits more exact, but wake a process with open streams more often. */
export const tickMs = 20;
/** A power of two. Limits above 20 s, the length of all slots, are skipped once in each round. */
const slots = 1_024;

type Due = (subject: unknown) => void;

/** A started time limit. It is an element of a ring, so it is stopped without a search. */
export class WheelTimer {
  /** Number of the tick for reporting the limit. */
  readonly tick: number;
  readonly #due: Due;
  readonly #subject: unknown;
  /** Neighbours in the ring; the timer itself while it is in none, so an old timer keeps no younger one in memory. */
  next: WheelTimer = this;
  #previous: WheelTimer = this;

  constructor(tick: number, due: Due, subject: unknown) {
    this.tick = tick;
    this.#due = due;
    this.#subject = subject;
  }

  /** Does nothing after the limit was reported or stopped. */
  stop(): void {
    this.#previous.next = this.next;
    this.next.#previous = this.#previous;
    this.next = this;
    this.#previous = this;
  }

  /** Becomes the last of a ring. */
  join(ring: WheelTimer): void {
    this.stop();
    this.#previous = ring.#previous;
    this.next = ring;
    ring.#previous.next = this;
    ring.#previous = this;
  }

  report(): void {
    this.stop();
    this.#due(this.#subject);
  }
}

/** A ring without timers. */
const emptyRing = (): WheelTimer => new WheelTimer(Number.POSITIVE_INFINITY, () => {}, undefined);

export class TimerWheel {
  readonly #rings = Array.from({ length: slots }, emptyRing);
  /** Due timers, in order. */
  readonly #due = emptyRing();
  /** The last tick with reported timers. */
  #tick = 0;
  #isArmed = false;

  /**
   * @param ms infinite for a limit never reported
   * @param due called once with the subject; a shared function spares a closure for each limit
   */
  start<Subject>(ms: number, due: (subject: Subject) => void, subject: Subject): WheelTimer {
    const now = performance.now();
    const timer = new WheelTimer(Math.floor((now + Math.max(0, ms)) / tickMs) + 1, due as Due, subject);
    timer.join(this.#ringOf(timer.tick));
    if (!this.#isArmed) {
      this.#tick = Math.floor(now / tickMs);
      this.#arm(now);
    }
    return timer;
  }

  #ringOf(tick: number): WheelTimer {
    return this.#rings[tick & (slots - 1)]!;
  }

  #arm(now: number): void {
    this.#isArmed = true;
    setTimeout(this.#look, Math.ceil((Math.floor(now / tickMs) + 1) * tickMs - now));
  }

  readonly #look = (): void => {
    const now = performance.now();
    try {
      this.#collect(Math.floor(now / tickMs));
      // Individually, because a report may stop other timers or throw; the next check continues with the rest.
      while (isWaiting(this.#due)) this.#due.next.report();
    } finally {
      this.#isArmed = false;
      if (isWaiting(this.#due) || this.#rings.some(isWaiting)) this.#arm(now);
    }
  };

  /** Moves the timers of every tick up to this one to the due ring. */
  #collect(until: number): void {
    // After a stall of more than a round, a single round reaches all slots.
    for (let tick = Math.max(this.#tick + 1, until - slots + 1); tick <= until; tick++) {
      const ring = this.#ringOf(tick);
      let next = ring.next;
      while (next !== ring) {
        const timer = next;
        next = timer.next;
        if (timer.tick <= until) timer.join(this.#due);
      }
    }
    this.#tick = until;
  }
}

const isWaiting = (ring: WheelTimer): boolean => ring.next !== ring;

/** The time limits of this process. */
export const timeLimits = new TimerWheel();
