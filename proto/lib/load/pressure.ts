/**
 * Detects overload. Bursts and single stalls are normal; overload is a queue that never becomes empty. Its minimum over
 * a second decides, as in CoDel (RFC 8289), because one long stall would distort a percentile.
 *
 * Under overload, each turn of the event loop accepts new work for some milliseconds and refuses the rest at once.
 * While memory is scarce, no new work is accepted until running requests release theirs.
 */
import { Counter, type Registry } from "../metrics/metrics.ts";
import type { Logger } from "../log/log.ts";
import { memoryUsePercent } from "./memory.ts";

const standsMs = 1_000;
const calmMs = 1_000;

/** Watches a queue by regular samples. */
export class StandingQueue {
  readonly #most: number;
  readonly #calm: number;
  #aboveSince: number | undefined;
  #calmSince: number | undefined;
  /**
   * Whether the queue is standing: true once every sample of a second was above `most`, until all samples of a second
   * are at most `calm`.
   */
  stands = false;

  /** @param most highest length without overload @param calm maximum length that counts as calm; below the length at which refusals hold the queue */
  constructor(most: number, calm: number) {
    this.#most = most;
    this.#calm = calm;
  }

  /** Takes a sample. @param now milliseconds */
  look(size: number, now: number): void {
    this.#aboveSince = size > this.#most ? (this.#aboveSince ?? now) : undefined;
    this.#calmSince = size <= this.#calm ? (this.#calmSince ?? now) : undefined;
    if (this.#aboveSince !== undefined && now - this.#aboveSince >= standsMs) this.stands = true;
    if (this.#calmSince !== undefined && now - this.#calmSince >= calmMs) this.stands = false;
  }
}

const beatMs = 20;
/** Delay in milliseconds of a timer that counts as overload; other programs on a busy machine cause less. */
const lateMs = 200;
const calmLateMs = 35;
/**
 * Milliseconds for new work in an event loop turn while timers are late: together with the refusals of the same turn,
 * an answer then takes less than 100 ms.
 */
const workMs = 60;
/** Maximum number of turns that wait to be started, some 20 ms of work for an inference process. */
export const maxWaitingTurns = 64;
/**
 * Number of waiting turns without overload; it includes turns that an inference process has started but not
 * acknowledged yet.
 */
export const calmWaitingTurns = 16;
/**
 * Maximum number of turns sent to an inference process at once, and accepted under overload. A process with more starts
 * all of them before it refuses any: under five times the possible load, the p99 of refusals was 24 to 80 ms with 32
 * turns, 27 to 190 with 64, and 116 to 430 without a limit (2026-11-22).
 */
export const maxSentTurns = 32;
/** Percent of the safe memory above which memory counts as scarce. */
const maxMemory = 100;
const calmMemory = 90;
/** Number of samples of the queue for one sample of memory, which takes longer to read. */
const beatsPerMemory = 10;

export interface PressureDeps {
  /** Returns the number of turns that wait to be started. */
  readonly waiting: () => number;
  /** Returns the used memory in percent of the safe memory. */
  readonly memory?: () => number;
  readonly log: Pick<Logger, "warn">;
  readonly registry: Registry;
  /** Returns the time in milliseconds. */
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

  /** Whether no new work is accepted for lack of memory. */
  get isMemoryScarce(): boolean {
    return this.#memory.stands;
  }

  /** Whether new turns may be refused. */
  get overloaded(): boolean {
    return this.#refusing;
  }

  /**
   * Whether to refuse a new turn; counts refusals.
   * @param hasItsShare false when the key has less than its share of the queue, so a long queue is no reason to refuse
   * its turn
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

/** Random pause before a retry, so clients refused at the same time do not return at the same time. */
export const drawRetryDelayMs = (): number => 1_000 + Math.random() * 4_000;
