/**
 * Whether a process has more to do than it can. Bursts and single stalls are nothing: what counts is a queue that does not go away, so that its
 * smallest size of a second is looked at, as CoDel does (RFC 8289), and not a percentile, which one long stall decides.
 *
 * While a queue stands, each turn of the event loop takes on new work for some milliseconds and refuses the rest of what has come: so the process
 * is busy with what it has taken on, and who is refused hears of it at once. While memory is scarce nothing new is taken on: what is under way
 * ends, and gives it back.
 */
import { Counter, type Registry } from "./metrics.ts";
import type { Logger } from "./log.ts";
import { memoryTaken } from "./memory.ts";

const standsMs = 1_000;
const calmMs = 1_000;

/** A queue whose size is looked at again and again. */
export class StandingQueue {
  readonly #most: number;
  readonly #calm: number;
  #aboveSince: number | undefined;
  #calmSince: number | undefined;
  /** It was longer than `most` at every look of a second, and since then not for a second no longer than `calm`. */
  stands = false;

  /** @param calm below what is left while the queue is held down */
  constructor(most: number, calm: number) {
    this.#most = most;
    this.#calm = calm;
  }

  /** @param now milliseconds */
  look(size: number, now: number): void {
    this.#aboveSince = size > this.#most ? (this.#aboveSince ?? now) : undefined;
    this.#calmSince = size <= this.#calm ? (this.#calmSince ?? now) : undefined;
    if (this.#aboveSince !== undefined && now - this.#aboveSince >= standsMs) this.stands = true;
    if (this.#calmSince !== undefined && now - this.#calmSince >= calmMs) this.stands = false;
  }
}

const beatMs = 20;
/** How late a timer may be; less is also what a machine does that is busy with other things. */
const lateMs = 200;
const calmLateMs = 35;
/** Of one turn of the event loop, as long as timers are late: with what is refused in the rest of it, an answer takes less than 100 ms. */
const workMs = 60;
/** Turns that nobody has begun: some 20 ms of an inference process. */
const mostWaiting = 64;
const calmWaiting = 16;
/**
 * Of these, what an inference process is handed at once, and what is let in while a queue stands. Who gets more does nothing else until it has
 * begun them all, and refusals wait for that: under five times the load their p99 was 24 to 80 ms with 32, 27 to 190 with 64, 116 to 430 with no
 * bound on what is handed over (2026-11-22).
 */
export const mostHanded = 32;
/** Percent of the memory that is safe. */
const mostMemory = 100;
const calmMemory = 90;
/** To look at memory takes longer than at a queue. */
const beatsPerMemory = 10;

export interface PressureParts {
  /** Work that nobody has begun. */
  readonly waiting: () => number;
  /** Percent of the memory that is safe. */
  readonly memory?: () => number;
  readonly log: Pick<Logger, "warn">;
  readonly registry: Registry;
  /** Milliseconds. */
  readonly now?: () => number;
}

export class Pressure {
  readonly #parts: PressureParts;
  readonly #now: () => number;
  readonly #late = new StandingQueue(lateMs, calmLateMs);
  readonly #waiting = new StandingQueue(mostWaiting, calmWaiting);
  readonly #memory = new StandingQueue(mostMemory, calmMemory);
  readonly #refused: Counter;
  #beats = 0;
  #beatAt: number;
  #refusing = false;

  constructor(parts: PressureParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#beatAt = this.#now();
    this.#refused = new Counter({
      name: "sluice_shed_total",
      help: "Turns that were refused because the process had more to do than it could.",
      registers: [parts.registry],
    });
  }

  /** Looks fifty times a second; keeps no process alive. */
  start(): void {
    setInterval(() => this.beat(), beatMs).unref();
  }

  beat(): void {
    const now = this.#now();
    this.#late.look(now - this.#beatAt - beatMs, now);
    this.#waiting.look(this.#parts.waiting(), now);
    if (this.#beats++ % beatsPerMemory === 0) this.#memory.look((this.#parts.memory ?? memoryTaken)(), now);
    this.#beatAt = now;
    const refusing = this.#late.stands || this.#waiting.stands || this.#memory.stands;
    if (refusing !== this.#refusing) {
      const why = { late: this.#late.stands, waiting: this.#waiting.stands, memory: this.#memory.stands };
      this.#parts.log.warn(why, refusing ? "overloaded: new turns may be refused" : "no longer overloaded");
    }
    this.#refusing = refusing;
  }

  /** New turns may be refused. */
  get overloaded(): boolean {
    return this.#refusing;
  }

  /**
   * Whether a new turn is to be refused; counts those that are.
   * @param hasItsShare false: its key has less than its share of what waits, so that a queue is no reason to refuse it
   */
  refuses(hasItsShare = true): boolean {
    if (!this.#refusing) return false;
    const late = this.#late.stands && this.#now() - this.#beatAt > workMs;
    const refused =
      late || this.#memory.stands || (hasItsShare && this.#waiting.stands && this.#parts.waiting() >= mostHanded);
    if (refused) this.#refused.inc();
    return refused;
  }
}

/** Apart from each other, so that those who were refused together do not come back together. */
export const refusedMs = (): number => 1_000 + Math.random() * 4_000;
