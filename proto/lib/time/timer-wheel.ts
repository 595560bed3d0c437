/**
 * Time limits, such as those of requests, which are nearly always stopped before they are due: one timer of Node serves
 * all of them.
 *
 * A limit is never reported early, and at most `tickMs` late unless the event loop is late. While it runs, it keeps the
 * process alive, as a timer of Node does.
 */

/**
 * Interval in milliseconds at which limits are checked. A shorter one would make limits more exact, but wake a process
 * with open streams more often.
 */
export const tickMs = 20;
/**
 * Number of slots, a power of two. A limit of more than 20 s, the time of all slots together, stays in its slot for
 * several rounds.
 */
const slots = 1_024;

type Due = (subject: unknown) => void;

/** A running time limit. It is an element of a ring, so it can be stopped without a search. */
export class WheelTimer {
  /** Number of the tick at which the limit is reported. */
  readonly tick: number;
  readonly #due: Due;
  readonly #subject: unknown;
  /**
   * Neighbours in the ring. Outside of a ring, the timer is its own neighbour, so an old timer keeps no younger
   * one in memory.
   */
  next: WheelTimer = this;
  #previous: WheelTimer = this;

  constructor(tick: number, due: Due, subject: unknown) {
    this.tick = tick;
    this.#due = due;
    this.#subject = subject;
  }

  /** Stops the limit; has no effect after it was reported or stopped. */
  stop(): void {
    this.#previous.next = this.next;
    this.next.#previous = this.#previous;
    this.next = this;
    this.#previous = this;
  }

  /** Adds the timer at the end of a ring. */
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

/** Creates a ring without timers. */
const emptyRing = (): WheelTimer => new WheelTimer(Number.POSITIVE_INFINITY, () => {}, undefined);

export class TimerWheel {
  readonly #rings = Array.from({ length: slots }, emptyRing);
  /** Timers that are due, in order. */
  readonly #due = emptyRing();
  /** The last tick whose timers were collected. */
  #tick = 0;
  #isArmed = false;

  /**
   * Starts a limit. @param ms infinite for a limit that is never reported
   * @param due called once with the subject; a shared function avoids a closure for each limit
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
      // One by one, because a report may stop other timers or throw; the next check continues with the rest.
      while (isWaiting(this.#due)) this.#due.next.report();
    } finally {
      this.#isArmed = false;
      if (isWaiting(this.#due) || this.#rings.some(isWaiting)) this.#arm(now);
    }
  };

  /** Moves the timers of every tick up to this one to the ring of due timers. */
  #collect(until: number): void {
    // After a stall of more than a round, one round reaches all slots.
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

/** The timer wheel of this process. */
export const timeLimits = new TimerWheel();
