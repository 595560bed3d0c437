/** The keys of one provider, in rotation. What an answer says about a key lets it rest: from one model, or altogether. */
import { type Fault, FaultReason } from "@sluice/proto/runtime/fault.js";

/** A refused key is left alone that long: a rotated one is found soon, and few turns run into a dead one. */
const refusedRestMs = 60_000;
/** Without a word about when: until a person has paid. */
const spentRestMs = 300_000;
const longestRestMs = 300_000;
const shortestRestMs = 1_000;

export interface Key {
  /** Its place in the configuration, from 0. */
  readonly index: number;
  /** Undefined for servers without keys. */
  readonly secret: string | undefined;
}

/** Until when no key may be asked with, and why. */
export interface KeyRest {
  /** limited: too many requests for the model; refused: not taken, or nothing left to spend. */
  readonly why: "limited" | "refused";
  /** Milliseconds by the clock of the ring. */
  readonly until: number;
}

/** What is known of one key. */
interface Note {
  refusedUntil: number;
  /** By model. */
  readonly limitedUntil: Map<string, number>;
}

export class KeyRing {
  readonly #keys: readonly Key[];
  readonly #notes: readonly Note[];
  readonly #now: () => number;
  #next = 0;
  /** Until then something may rest; before that nothing has to be looked at. */
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** @param keys none for servers without keys: those are limited as if they had one */
  constructor(keys: readonly string[], now: () => number) {
    this.#keys =
      keys.length === 0 ? [{ index: 0, secret: undefined }] : keys.map((secret, index) => ({ index, secret }));
    this.#notes = this.#keys.map(() => ({ refusedUntil: 0, limitedUntil: new Map<string, number>() }));
    this.#now = now;
  }

  /** The next key that does not rest; when all rest, the one that rests for the shortest time. */
  take(model: string): Key {
    const order = this.#keys.map((_, step) => (this.#next + step) % this.#keys.length);
    const now = this.#now();
    const index =
      order.find((at) => this.#until(at, model) <= now) ??
      order.reduce((best, at) => (this.#until(at, model) < this.#until(best, model) ? at : best));
    this.#next = index + 1;
    return this.#keys[index]!;
  }

  /** Undefined while some key may be asked with. */
  rest(model: string): KeyRest | undefined {
    const now = this.#now();
    if (now >= this.#restsUntil) return undefined;
    const untils = this.#keys.map(({ index }) => this.#until(index, model));
    if (untils.some((until) => until <= now)) return undefined;
    const limited = untils.filter((_, index) => this.#notes[index]!.refusedUntil <= now);
    return limited.length > 0
      ? { why: "limited", until: Math.min(...limited) }
      : { why: "refused", until: Math.min(...untils) };
  }

  /**
   * What a failure means for the key that it was asked with.
   * @returns how long an operator should know that it is not asked with, in milliseconds; undefined when there is nothing to know
   */
  note({ index }: Key, model: string, fault: Fault): number | undefined {
    const note = this.#notes[index]!;
    const now = this.#now();
    if (fault.reason === FaultReason.RATE_LIMITED) {
      note.limitedUntil.set(model, now + bounded(fault.retryAfterMs));
      this.#restsUntil = Math.max(this.#restsUntil, now + bounded(fault.retryAfterMs));
      return undefined;
    }
    const restMs = fault.reason === FaultReason.PROVIDER_FAILED ? refusalMs(fault) : undefined;
    if (restMs === undefined) return undefined;
    note.refusedUntil = now + restMs;
    this.#restsUntil = Math.max(this.#restsUntil, note.refusedUntil);
    return restMs;
  }

  #until(index: number, model: string): number {
    const { refusedUntil, limitedUntil } = this.#notes[index]!;
    return Math.max(refusedUntil, limitedUntil.get(model) ?? 0);
  }
}

/** A 429 that is not about rates is about money. */
function refusalMs({ attemptStatus, retryAfterMs }: Fault): number | undefined {
  if (attemptStatus === 401 || attemptStatus === 403) return refusedRestMs;
  if (attemptStatus !== 402 && attemptStatus !== 429) return undefined;
  return retryAfterMs > 0 ? bounded(retryAfterMs) : spentRestMs;
}

const bounded = (retryAfterMs: number): number => Math.min(longestRestMs, Math.max(shortestRestMs, retryAfterMs));
