/** The API keys of one provider, used in rotation. After a failure, a key is not used for a time, for one model or for all. */
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** Milliseconds for which a refused key is not used: short enough to notice a renewed key, long enough that few turns meet a dead one. */
const refusedRestMs = 60_000;
/** Milliseconds for which a key without credit is not used, when the provider names no time. */
const spentRestMs = 300_000;
const maxRestMs = 300_000;
const minRestMs = 1_000;

export interface ProviderKey {
  /** Index of the key in the configuration, from 0. */
  readonly index: number;
  /** The API key; undefined for servers without keys. */
  readonly secret: string | undefined;
}

/** A time in which no key can be used, with the reason. */
export interface KeyRest {
  /** Why no key can be used. limited: too many requests for the model; refused: rejected, or out of credit. */
  readonly why: "limited" | "refused";
  /** End of that time in milliseconds, by the clock of the key ring. */
  readonly until: number;
}

/** The state of one key. */
interface Note {
  refusedUntil: number;
  /** For each model, the time in milliseconds until which the key is rate limited. */
  readonly limitedUntil: Map<string, number>;
}

export class KeyRing {
  readonly #keys: readonly ProviderKey[];
  readonly #notes: readonly Note[];
  readonly #now: () => number;
  #next = 0;
  /** Latest time until which a key is not used. After it, the usual case, no search is needed. */
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** @param keys API keys; empty for servers without keys, which are rate limited as if they had one */
  constructor(keys: readonly string[], now: () => number) {
    this.#keys =
      keys.length === 0 ? [{ index: 0, secret: undefined }] : keys.map((secret, index) => ({ index, secret }));
    this.#notes = this.#keys.map(() => ({ refusedUntil: 0, limitedUntil: new Map<string, number>() }));
    this.#now = now;
  }

  /** The next key that can be used; when none can, the one that can be used first. */
  take(model: string): ProviderKey {
    const now = this.#now();
    const first = this.#next % this.#keys.length;
    const index = now >= this.#restsUntil ? first : this.#findRested(first, model, now);
    this.#next = index + 1;
    return this.#keys[index]!;
  }

  #findRested(first: number, model: string, now: number): number {
    let best = first;
    for (let step = 0; step < this.#keys.length; step++) {
      const at = (first + step) % this.#keys.length;
      const until = this.#until(at, model);
      if (until <= now) return at;
      if (until < this.#until(best, model)) best = at;
    }
    return best;
  }

  /** The time in which no key can be used. @returns undefined while some key can be used */
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
   * Notes a failed call with a key.
   * @returns the milliseconds for which the key is not used, to be reported to the operator; undefined when it can
   * still be used
   */
  note({ index }: ProviderKey, model: string, fault: Fault): number | undefined {
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

/** Milliseconds for which a refused key is not used. A 429 that is no rate limit means that the credit is spent. */
function refusalMs({ attemptStatus, retryAfterMs }: Fault): number | undefined {
  if (attemptStatus === 401 || attemptStatus === 403) return refusedRestMs;
  if (attemptStatus !== 402 && attemptStatus !== 429) return undefined;
  return retryAfterMs > 0 ? bounded(retryAfterMs) : spentRestMs;
}

const bounded = (retryAfterMs: number): number => Math.min(maxRestMs, Math.max(minRestMs, retryAfterMs));
