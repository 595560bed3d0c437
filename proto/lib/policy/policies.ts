/**
 * Policies of one kind by name. Each is read from admin-svc once and cached while it is in force.
 *
 * A policy known to be superseded is read again before use. While admin-svc or its database is unavailable, a known
 * policy is used for 300 s more.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type CachedPolicy, PolicyCache } from "./cache.ts";
import { type FetchPolicy, PolicyReader, isOutage } from "./reader.ts";
import type { TraceHeaders } from "../tracing/context.ts";

/**
 * Milliseconds after which a cached policy is read again. Heartbeats confirm it every second, and each change is
 * announced, so this only covers unannounced changes, such as a manual edit in the database. With 30 s instead, two
 * hundred processes with a hundred thousand keys made a third of all requests to admin-svc, and other requests waited
 * for them.
 */
const freshMs = 300_000;
/** Milliseconds after which a policy is read again while no heartbeats arrive to confirm it. */
const freshUnwatchedMs = 2_000;
/** Maximum time in milliseconds for which an unconfirmed policy is used. */
export const maxUnverifiedMs = 300_000;
const unknownMs = 5_000;
/** Silence in milliseconds after which the connection counts as lost; heartbeats come every second. */
export const maxSilenceMs = 3_000;
/** Silence in milliseconds, two heartbeats, after which admin-svc or its database probably hangs. */
const suspectedSilenceMs = 2_000;
/** Maximum wait in milliseconds for an unresponsive admin-svc when an earlier policy is known. */
const maxHangWaitMs = 250;
/** Pause in milliseconds before a failed read is repeated. */
const retryMs = 100;
/** Maximum wait in milliseconds for the new version of a superseded policy while heartbeats arrive. */
const maxReplaceMs = 3_000;

/** Connection state of a process: its policy generation, and the time since the last message of admin-svc. */
export interface PolicyState {
  /** Generation up to which every change has arrived. */
  readonly applied: bigint;
  /** Milliseconds since the last message of admin-svc; infinite before the first. */
  readonly silentMs: number;
}

/** A policy as it is used for a request. */
export interface ServedPolicy<Value> {
  /** Absent when admin-svc does not know this name. */
  readonly value: Value | undefined;
  /** Policy generation up to which the policy is current. */
  readonly generation: bigint;
  /** Whether a newer policy exists but could not be read. */
  readonly isSuperseded: boolean;
}

interface Renewal {
  /** Whether no change has superseded the last policy. */
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

  /**
   * Forgets all policies, including those being read: after a restore of the database, their generations are
   * meaningless.
   */
  forget(): void {
    this.#cache = new PolicyCache();
    this.#reader = new PolicyReader(this.#fetchPolicy, this.#cache);
  }

  /** Handles a message of admin-svc. @param names of changed policies; null for all */
  invalidate(names: readonly string[] | null, generation: bigint): void {
    if (names === null) this.#cache.supersedeAll(generation);
    else this.#cache.supersede(names, generation);
    this.#reader.invalidate(names);
  }

  /**
   * Finds a policy, as of `minGeneration` or later.
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

  /**
   * Whether a policy is too old to be used. A heartbeat confirms all policies that it does not supersede, however long
   * ago they were read.
   */
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

  /** Reads a policy again that is probably still valid: the last one is used when the read fails or takes long. */
  async #refresh(name: string, last: CachedPolicy<Value>, renewal: Renewal): Promise<ServedPolicy<Value>> {
    const reading = this.#read(name, renewal).catch(() => undefined);
    const served = this.#reader.isAnswered ? await within(maxHangWaitMs, reading) : undefined;
    if (served) return served;
    // Another change may have arrived during the read.
    return last.supersededAt === undefined ? this.#live(last) : superseded(last);
  }

  /**
   * Reads the new version of a superseded policy, which must not be used while the new one can be read. Heartbeats
   * prove that admin-svc and its database answer, so the read is awaited and repeated until heartbeats stop.
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

  /** A policy for use; one that is not superseded is valid up to the current generation. */
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

/** The outcome of `work`; undefined when it takes longer than `ms`. */
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
