/**
 * Detects overload. Bursts and single stalls are normal; overload is a queue that never empties. Its minimum over a second decides, as in CoDel (RFC 8289),
 * because one long stall would distort a percentile.
 *
 * Under overload, each turn of the event loop accepts new work for some milliseconds and refuses the rest at once. While memory is scarce, no new work is
 * accepted until running requests release theirs.
 */
import { Counter, type Registry } from "../metrics/metrics.ts";
import type { Logger } from "../log/log.ts";
import { memoryUsePercent } from "./memory.ts";

const standsMs = 1_000;
const calmMs = 1_000;

/** A regularly sampled queue. */
export class StandingQueue {
  readonly #most: number;
  readonly #calm: number;
  #aboveSince: number | undefined;
  #calmSince: number | undefined;
  /** True once every sample of a second was above `max`; false again after a second with samples at or below `calm`. */
  stands = false;

  /** @param calm below the level at which the queue is held by refusals */
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
/** Timer delay that counts as overload; other programs on a busy machine cause less. */
const lateMs = 200;
const calmLateMs = 35;
/** Time for new work in an event loop turn while timers are late: with the refusals of the same turn, an answer takes less than 100 ms. */
const workMs = 60;
/** Limit of turns waiting for their start: some 20 ms of an inference process. */
export const maxWaitingTurns = 64;
/** Number of waiting turns without overload; it includes turns started by inference processes but not acknowledged yet. */
export const calmWaitingTurns = 16;
/**
 * Maximum number of turns sent to an inference process at once, and accepted under overload. A process with more starts them all before it refuses any:
 * under five times the load, the p99 of refusals was 24 to 80 ms with 32, 27 to 190 with 64, and 116 to 430 without a bound (2026-11-22).
 */
export const maxSentTurns = 32;
/** Percent of the safe memory. */
const maxMemory = 100;
const calmMemory = 90;
/** Memory is sampled less often, because reading it takes longer than reading a queue's size. */
const beatsPerMemory = 10;

export interface PressureDeps {
  /** Number of turns waiting for their start. */
  readonly waiting: () => number;
  /** Percent of the safe memory in use. */
  readonly memory?: () => number;
  readonly log: Pick<Logger, "warn">;
  readonly registry: Registry;
  /** Milliseconds. */
  readonly now?: () => number;
}

export class Pressure {
  readonly #parts: PressureDeps;
  readonly #now: () => number;
  readonly #late = new StandingQueue(lateMs, calmLateMs);
  readonly #waiting = new StandingQueue(maxWaitingTurns, calmWaitingTurns);
  readonly #memory = new StandingQueue(maxMemory, calmMemory);
  readonly #refused: Counter;
  #beats = 0;
  #beatAt: number;
  #refusing = false;

  constructor(parts: PressureDeps) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#beatAt = this.#now();
    this.#refused = new Counter({
      name: "sluice_shed_total",
      help: "Turns that were refused because the process was overloaded.",
      registers: [parts.registry],
    });
  }

  /** Samples fifty times a second; does not keep the process alive. */
  start(): void {
    setInterval(() => this.beat(), beatMs).unref();
  }

  beat(): void {
    const now = this.#now();
    this.#late.look(now - this.#beatAt - beatMs, now);
    this.#waiting.look(this.#parts.waiting(), now);
    if (this.#beats++ % beatsPerMemory === 0) this.#memory.look((this.#parts.memory ?? memoryUsePercent)(), now);
    this.#beatAt = now;
    const refusing = this.#late.stands || this.#waiting.stands || this.#memory.stands;
    if (refusing !== this.#refusing) {
      const why = { late: this.#late.stands, waiting: this.#waiting.stands, memory: this.#memory.stands };
      this.#parts.log.warn(why, refusing ? "overloaded: new turns may be refused" : "no longer overloaded");
    }
    this.#refusing = refusing;
  }

  /** True while no new work is accepted for lack of memory. */
  get isMemoryScarce(): boolean {
    return this.#memory.stands;
  }

  /** True while new turns may be refused. */
  get overloaded(): boolean {
    return this.#refusing;
  }

  /**
   * True when a new turn is refused; counts refusals.
   * @param hasItsShare false when the key has less than its share of the queue: then a long queue is no reason to refuse its turn
   */
  refuses(hasItsShare = true): boolean {
    if (!this.#refusing) return false;
    const late = this.#late.stands && this.#now() - this.#beatAt > workMs;
    const refused =
      late || this.#memory.stands || (hasItsShare && this.#waiting.stands && this.#parts.waiting() >= maxSentTurns);
    if (refused) this.#refused.inc();
    return refused;
  }
}

/** Random pause before a retry, so that clients refused at the same time do not return at the same time. */
export const drawRetryDelayMs = (): number => 1_000 + Math.random() * 4_000;
