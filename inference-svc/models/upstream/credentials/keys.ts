/** The API keys of one provider, in rotation. A failure makes a key rest, for one model or for all. */
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

/** Rest of a refused key: short enough to notice a renewed key, long enough that few turns meet a dead key. */
const refusedRestMs = 60_000;
/** Rest of a key without credit when the provider names no time. */
const spentRestMs = 300_000;
const maxRestMs = 300_000;
const minRestMs = 1_000;

export interface ProviderKey {
  /** Position in the configuration, from 0. */
  readonly index: number;
  /** Undefined for servers without keys. */
  readonly secret: string | undefined;
}

/** Time until which no key can be used, and the reason. */
export interface KeyRest {
  /** limited: too many requests for the model; refused: rejected, or out of credit. */
  readonly why: "limited" | "refused";
  /** Milliseconds by the clock of the key ring. */
  readonly until: number;
}

/** The state of one key. */
interface Note {
  refusedUntil: number;
  /** End of the rest in milliseconds, by model. */
  readonly limitedUntil: Map<string, number>;
}

export class KeyRing {
  readonly #keys: readonly ProviderKey[];
  readonly #notes: readonly Note[];
  readonly #now: () => number;
  #next = 0;
  /** No key rests after this time: the common case needs no search. */
  #restsUntil = Number.NEGATIVE_INFINITY;

  /** @param keys empty for servers without keys; these are rate limited as if they had one */
  constructor(keys: readonly string[], now: () => number) {
    this.#keys =
      keys.length === 0 ? [{ index: 0, secret: undefined }] : keys.map((secret, index) => ({ index, secret }));
    this.#notes = this.#keys.map(() => ({ refusedUntil: 0, limitedUntil: new Map<string, number>() }));
    this.#now = now;
  }

  /** The next available key; when all rest, the key with the earliest end of its rest. */
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

  /** Undefined while some key can be used. */
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
   * Records a failed call with a key.
   * @returns the rest in milliseconds to report to the operator, if any
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

/** A 429 without rate limit means the credit is spent. */
function refusalMs({ attemptStatus, retryAfterMs }: Fault): number | undefined {
  if (attemptStatus === 401 || attemptStatus === 403) return refusedRestMs;
  if (attemptStatus !== 402 && attemptStatus !== 429) return undefined;
  return retryAfterMs > 0 ? bounded(retryAfterMs) : spentRestMs;
}

const bounded = (retryAfterMs: number): number => Math.min(maxRestMs, Math.max(minRestMs, retryAfterMs));
