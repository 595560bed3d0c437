/**
 * Policies of one kind by name: each is read from admin-svc once and cached while it is in force.
 *
 * A policy known to be superseded is read again before use. While admin-svc or its database is unreachable, a known policy is served for 300 s more.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type CachedPolicy, PolicyCache } from "./cache.ts";
import { type FetchPolicy, PolicyReader, isOutage } from "./reader.ts";
import type { TraceHeaders } from "../tracing/context.ts";

/**
 * Heartbeats confirm a cached policy every second, and each change is announced. Reading again covers unannounced changes, such as a manual edit in the
 * database. With 30 s instead, two hundred processes with a hundred thousand keys made a third of all requests to admin-svc, and these waited.
 */
const freshMs = 300_000;
/** No heartbeat confirms a cached policy during an outage of the watch, so it is read again soon. */
const freshUnwatchedMs = 2_000;
/** Maximum time for which an unconfirmed policy is served. */
export const maxUnverifiedMs = 300_000;
const unknownMs = 5_000;
/** Silence before the connection counts as lost; heartbeats come every second. */
export const maxSilenceMs = 3_000;
/** Two missing heartbeats: admin-svc or its database probably hangs. */
const suspectedSilenceMs = 2_000;
/** Maximum wait for an unresponsive admin-svc when a last policy is known. */
const maxHangWaitMs = 250;
/** Pause before a failed reading is repeated. */
const retryMs = 100;
/** Maximum wait for the successor of a superseded policy while heartbeats arrive. */
const maxReplaceMs = 3_000;

/** Connection state of a process: policy generations, and time since the last message of admin-svc. */
export interface PolicyState {
  /** Generation up to which every change has arrived. */
  readonly applied: bigint;
  /** Time since the last message of admin-svc; infinite before the first. */
  readonly silentMs: number;
}

/** The policy for a request. */
export interface ServedPolicy<Value> {
  /** Absent when admin-svc does not know this name. */
  readonly value: Value | undefined;
  /** Generation of the policy in force. */
  readonly generation: bigint;
  /** True when a newer policy exists but could not be read. */
  readonly isSuperseded: boolean;
}

interface Renewal {
  /** False after a change has superseded the last policy. */
  readonly isCurrent: boolean;
  readonly minGeneration: bigint;
  readonly trace: TraceHeaders | undefined;
}

export class Policies<Value> {
  readonly #state: PolicyState;
  readonly #fetchPolicy: FetchPolicy<Value>;
  #cache = new PolicyCache<Value>();
  #reader: PolicyReader<Value>;

  constructor(fetchPolicy: FetchPolicy<Value>, state: PolicyState) {
    this.#state = state;
    this.#fetchPolicy = fetchPolicy;
    this.#reader = new PolicyReader(fetchPolicy, this.#cache);
  }

  /** Drops every policy, also those being read: their generations are of another history of the database. */
  forget(): void {
    this.#cache = new PolicyCache();
    this.#reader = new PolicyReader(this.#fetchPolicy, this.#cache);
  }

  /** Processes a message of admin-svc: the changed names, or null for all. */
  invalidate(names: readonly string[] | null, generation: bigint): void {
    if (names === null) this.#cache.supersedeAll(generation);
    else this.#cache.supersede(names, generation);
    this.#reader.invalidate(names);
  }

  /**
   * The policy as of `minGeneration` or later.
   * @throws Fault UNAVAILABLE when it cannot be read
   */
  resolve(
    name: string,
    minGeneration: bigint,
    trace?: TraceHeaders,
  ): ServedPolicy<Value> | Promise<ServedPolicy<Value>> {
    const known = this.#cache.get(name);
    if (!known) return this.#reader.read(name, minGeneration, trace).then((policy) => this.#live(policy));
    const { applied, silentMs } = this.#state;
    const isCovered = known.generation >= minGeneration || applied >= minGeneration;
    const isCurrent = known.supersededAt === undefined && isCovered;
    const lifetimeMs = !known.value ? unknownMs : silentMs < maxSilenceMs ? freshMs : freshUnwatchedMs;
    const isFresh = performance.now() - known.requestedAt < lifetimeMs;
    if (isCurrent && isFresh && !this.#isTooOld(known)) return this.#live(known);
    return this.#renew(name, known, { isCurrent, minGeneration, trace });
  }

  /** A heartbeat confirms every policy it does not supersede, however long ago it was read. */
  #isTooOld({ value, filledAt, supersededAt }: CachedPolicy<Value>): boolean {
    const age = performance.now() - filledAt;
    if (!value) return age >= unknownMs;
    if (supersededAt !== undefined) return performance.now() - supersededAt >= maxUnverifiedMs;
    return Math.min(age, this.#state.silentMs) >= maxUnverifiedMs;
  }

  #renew(name: string, last: CachedPolicy<Value>, renewal: Renewal): Promise<ServedPolicy<Value>> {
    if (!last.value || this.#isTooOld(last)) return this.#read(name, renewal);
    last.requestedAt = performance.now();
    return renewal.isCurrent ? this.#refresh(name, last, renewal) : this.#replace(name, last, renewal);
  }

  async #read(name: string, { isCurrent, minGeneration, trace }: Renewal): Promise<ServedPolicy<Value>> {
    return this.#live(await this.#reader.read(name, isCurrent ? 0n : minGeneration, trace));
  }

  /** The last policy is probably still valid, so it is used when the reading fails or takes long. */
  async #refresh(name: string, last: CachedPolicy<Value>, renewal: Renewal): Promise<ServedPolicy<Value>> {
    const reading = this.#read(name, renewal).catch(() => undefined);
    const served = this.#reader.isAnswered ? await within(maxHangWaitMs, reading) : undefined;
    if (served) return served;
    // A change may have arrived meanwhile.
    return last.supersededAt === undefined ? this.#live(last) : superseded(last);
  }

  /**
   * A superseded policy must not be served while the new one can be read. Heartbeats prove that admin-svc and its database answer, so the reading is
   * awaited and repeated until heartbeats stop.
   */
  async #replace(name: string, last: CachedPolicy<Value>, renewal: Renewal): Promise<ServedPolicy<Value>> {
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

  /** The policy with its current generation: a policy not superseded is valid up to the applied generation. */
  #live({ value, generation }: CachedPolicy<Value>): ServedPolicy<Value> {
    const { applied } = this.#state;
    return { value, generation: generation > applied ? generation : applied, isSuperseded: false };
  }
}

const superseded = <Value>({ value, generation }: CachedPolicy<Value>): ServedPolicy<Value> => ({
  value,
  generation,
  isSuperseded: true,
});

/** The outcome of `work`, or undefined when it takes longer. */
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
