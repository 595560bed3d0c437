/**
 * Policies of one kind by name: each is read from admin-svc once and kept while it is in force.
 *
 * A policy that is known to be superseded is read again before it is used. While admin-svc or its database cannot be asked, a known one is
 * served for 300 s more.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type KnownPolicy, PolicyCache } from "./policy-cache.ts";
import { type AskPolicy, PolicyReader, isOutage } from "./policy-reader.ts";
import type { TraceHeaders } from "./tracing/context.ts";

const freshMs = 30_000;
/** While the watch is silent nothing vouches for a policy, so it is read again soon. */
const freshUnwatchedMs = 2_000;
/** Longest time that a policy is served which this process cannot verify. */
const maxUnverifiedMs = 300_000;
const unknownMs = 5_000;
/** Heartbeats come every second. */
const silenceMs = 3_000;
/** Two heartbeats are missing: admin-svc or its database probably hangs. */
const suspectedSilenceMs = 2_000;
/** Longest wait for an admin-svc that hangs, where a last policy is known. */
const maxHangWaitMs = 250;
/** Before a reading that failed is repeated. */
const retryMs = 100;
/** Longest wait for the successor of a superseded policy while heartbeats come. */
const maxReplaceMs = 3_000;

/** A process's knowledge of policy generations, and of admin-svc. */
export interface PolicyState {
  /** Everything up to this generation was heard of. */
  readonly applied: bigint;
  /** Since admin-svc was last heard; infinite before. */
  readonly silentMs: number;
}

/** A policy to serve on. */
export interface Served<Value> {
  /** Absent when admin-svc knows nothing of that name. */
  readonly value: Value | undefined;
  /** The policy generation at which this is in force. */
  readonly generation: bigint;
  /** A newer policy exists and could not be read: this is the last one that was. */
  readonly isSuperseded: boolean;
}

interface Renewal {
  /** Nothing is known that supersedes the last policy. */
  readonly isCurrent: boolean;
  readonly minGeneration: bigint;
  readonly trace: TraceHeaders | undefined;
}

export class Policies<Value> {
  readonly #state: PolicyState;
  readonly #cache = new PolicyCache<Value>();
  readonly #reader: PolicyReader<Value>;

  constructor(ask: AskPolicy<Value>, state: PolicyState) {
    this.#state = state;
    this.#reader = new PolicyReader(ask, this.#cache);
  }

  /** A message of admin-svc: these have changed, or null: everything. */
  heard(names: readonly string[] | null, generation: bigint): void {
    if (names === null) this.#cache.supersedeAll(generation);
    else this.#cache.supersede(names, generation);
    this.#reader.heard(names);
  }

  /**
   * The policy as of `minGeneration` or later.
   * @throws Fault UNAVAILABLE when that cannot be found out
   */
  resolve(name: string, minGeneration: bigint, trace?: TraceHeaders): Served<Value> | Promise<Served<Value>> {
    const known = this.#cache.get(name);
    if (!known) return this.#reader.read(name, minGeneration, trace).then((policy) => this.#live(policy));
    const isCurrent = known.supersededAt === undefined && this.#covers(known, minGeneration);
    const isFresh = performance.now() - known.askedAt < this.#lifetime(known);
    if (isCurrent && isFresh && !this.#isTooOld(known)) return this.#live(known);
    return this.#renew(name, known, { isCurrent, minGeneration, trace });
  }

  #covers({ generation }: KnownPolicy<Value>, minGeneration: bigint): boolean {
    return generation >= minGeneration || this.#state.applied >= minGeneration;
  }

  #lifetime({ value }: KnownPolicy<Value>): number {
    if (!value) return unknownMs;
    return this.#state.silentMs < silenceMs ? freshMs : freshUnwatchedMs;
  }

  /** A heartbeat vouches for every policy that it does not supersede, also for one that was read long before. */
  #isTooOld({ value, filledAt, supersededAt }: KnownPolicy<Value>): boolean {
    const age = performance.now() - filledAt;
    if (!value) return age >= unknownMs;
    if (supersededAt !== undefined) return performance.now() - supersededAt >= maxUnverifiedMs;
    return Math.min(age, this.#state.silentMs) >= maxUnverifiedMs;
  }

  #renew(name: string, last: KnownPolicy<Value>, renewal: Renewal): Promise<Served<Value>> {
    if (!last.value || this.#isTooOld(last)) return this.#read(name, renewal);
    last.askedAt = performance.now();
    return renewal.isCurrent ? this.#refresh(name, last, renewal) : this.#replace(name, last, renewal);
  }

  async #read(name: string, { isCurrent, minGeneration, trace }: Renewal): Promise<Served<Value>> {
    return this.#live(await this.#reader.read(name, isCurrent ? 0n : minGeneration, trace));
  }

  /** Nothing speaks against the last policy: it is served when the reading fails, or takes long. */
  async #refresh(name: string, last: KnownPolicy<Value>, renewal: Renewal): Promise<Served<Value>> {
    const reading = this.#read(name, renewal).catch(() => undefined);
    const served = this.#reader.isAnswered ? await within(maxHangWaitMs, reading) : undefined;
    if (served) return served;
    // A change may have been heard of meanwhile.
    return last.supersededAt === undefined ? this.#live(last) : superseded(last);
  }

  /**
   * A superseded policy must not be served while the new one can be had. A heartbeat shows that admin-svc and its database answer, so the
   * reading is waited for, and repeated when it failed, until heartbeats are missing.
   */
  async #replace(name: string, last: KnownPolicy<Value>, renewal: Renewal): Promise<Served<Value>> {
    const until = performance.now() + maxReplaceMs;
    for (let failure: unknown; performance.now() < until; ) {
      const reading = this.#read(name, renewal).catch((error: unknown) => {
        if (!isOutage(error)) throw error;
        failure = error;
        return undefined;
      });
      const served = await within(maxHangWaitMs, reading);
      if (served) return served;
      if (this.#state.silentMs >= suspectedSilenceMs) return superseded(last);
      if (failure !== undefined) await delay(retryMs);
      failure = undefined;
    }
    return this.#read(name, renewal);
  }

  /** A policy as it counts now: what was not superseded holds up to the generation that was applied. */
  #live({ value, generation }: KnownPolicy<Value>): Served<Value> {
    const { applied } = this.#state;
    return { value, generation: generation > applied ? generation : applied, isSuperseded: false };
  }
}

const superseded = <Value>({ value, generation }: KnownPolicy<Value>): Served<Value> => ({
  value,
  generation,
  isSuperseded: true,
});

/** The outcome of `work`, or undefined when that takes longer. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const elapsed = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  try {
    return await Promise.race([work, elapsed]);
  } finally {
    clearTimeout(timer);
  }
}
