/**
 * Resolves keys to their policies: each is read from admin-svc once and kept while it is in force.
 *
 * A policy that is known to be superseded is read again before it is used. While admin-svc or its database cannot be asked, a known key
 * keeps working for 300 s on its last policy, and an unknown one is 503, never 401.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import type { Caller, WatchPolicyResponse } from "../gen/sluice/admin/v1/access_service_pb.ts";
import { Counter, type Registry, gauge } from "./metrics.ts";
import { type KnownPolicy, PolicyCache } from "./policy-cache.ts";
import { PolicyReader, isOutage } from "./policy-reader.ts";
import { PolicyWatch, type PolicyWatchOptions } from "./policy-watch.ts";
import { unknownTo } from "./rpc/knowledge.ts";
import type { TraceHeaders } from "./tracing/context.ts";
import { invalid } from "./validation/problems.ts";

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

/** The policy that a turn is served on. */
export interface Resolved {
  /** Absent when the key is unknown, disabled or expired. */
  readonly caller: Caller | undefined;
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

export interface AccessOptions extends PolicyWatchOptions {
  readonly registry: Registry;
}

export class Access {
  readonly #client: Client;
  readonly #watch: PolicyWatch;
  readonly #policies = new PolicyCache();
  readonly #reader: PolicyReader;
  readonly #supersededServed: Counter;
  #seen = 0n;
  #applied = 0n;
  #changed: (keyHashes: readonly string[] | null) => void = () => {};

  constructor({ registry, ...options }: AccessOptions) {
    this.#client = options.client;
    this.#reader = new PolicyReader(options, this.#policies);
    this.#watch = new PolicyWatch(options, (message) => this.#apply(message));
    gauge(registry, "sluice_policy_generation", "Highest policy generation in force in this process.", () =>
      Number(this.#applied),
    );
    gauge(
      registry,
      "sluice_policy_watch_silence_seconds",
      "Seconds since the policy watch was last heard, -1 before; above 3 the process serves on its last known policy.",
      () => (this.ready ? this.#watch.silentMs / 1000 : -1),
    );
    this.#supersededServed = new Counter({
      name: "sluice_policy_superseded_served_total",
      help: "Requests that were served on a key's last known policy although a newer one exists, because admin-svc could not be asked.",
      registers: [registry],
    });
  }

  /** True once admin-svc was heard: before that nothing can be resolved, and the process is not ready. */
  get ready(): boolean {
    return this.#watch.silentMs !== Number.POSITIVE_INFINITY;
  }

  /** The highest generation that this process has been told of. */
  get generation(): bigint {
    return this.#seen;
  }

  /** A generation learnt elsewhere, for example from the answer to a write: what is older is not good enough any more. */
  note(generation: bigint): void {
    if (generation > this.#seen) this.#seen = generation;
  }

  /**
   * For a request that sets something: an admin-svc of an earlier build would leave out in silence what it has never heard of.
   * @throws Fault INVALID_REQUEST naming that
   */
  requireKnown<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): void {
    const path = unknownTo(this.#watch.knows, schema, message);
    if (path !== undefined) throw invalid(path, "not known to admin-svc, which is of an earlier build");
  }

  /** Before each change is acknowledged the listener hears of the keys that it concerns, or null: every key. */
  onChange(listener: (keyHashes: readonly string[] | null) => void): void {
    this.#changed = listener;
  }

  /**
   * The caller that a key belongs to, as of `minGeneration` or later.
   * @param trace of the request that asks first, when admin-svc has to be asked
   * @throws Fault UNAVAILABLE when that cannot be found out
   */
  resolve(keyHash: string, minGeneration: bigint = this.#seen, trace?: TraceHeaders): Resolved | Promise<Resolved> {
    const known = this.#policies.get(keyHash);
    if (!known) return this.#reader.read(keyHash, minGeneration, trace).then((policy) => this.#live(policy));
    const isCurrent = known.supersededAt === undefined && this.#covers(known, minGeneration);
    const isFresh = performance.now() - known.askedAt < this.#lifetime(known);
    if (isCurrent && isFresh && !this.#isTooOld(known)) return this.#live(known);
    return this.#renew(keyHash, known, { isCurrent, minGeneration, trace });
  }

  #covers({ generation }: KnownPolicy, minGeneration: bigint): boolean {
    return generation >= minGeneration || this.#applied >= minGeneration;
  }

  #lifetime({ caller }: KnownPolicy): number {
    if (!caller) return unknownMs;
    return this.#watch.silentMs < silenceMs ? freshMs : freshUnwatchedMs;
  }

  /** A heartbeat vouches for every policy that it does not supersede, also for one that was read long before. */
  #isTooOld({ caller, filledAt, supersededAt }: KnownPolicy): boolean {
    const age = performance.now() - filledAt;
    if (!caller) return age >= unknownMs;
    if (supersededAt !== undefined) return performance.now() - supersededAt >= maxUnverifiedMs;
    return Math.min(age, this.#watch.silentMs) >= maxUnverifiedMs;
  }

  /** Reads a policy again. The last one stands in when the reading fails or hangs, as long as it may. */
  async #renew(keyHash: string, last: KnownPolicy, { isCurrent, minGeneration, trace }: Renewal): Promise<Resolved> {
    const reading = this.#reader.read(keyHash, isCurrent ? 0n : minGeneration, trace);
    if (!last.caller || this.#isTooOld(last)) return this.#live(await reading);
    last.askedAt = performance.now();
    const policy = await within(this.#patienceMs(isCurrent), reading).catch((error: unknown) => {
      if (isCurrent || isOutage(error)) return undefined;
      throw error;
    });
    if (policy) return this.#live(policy);
    // A change may have been heard of meanwhile.
    return isCurrent && last.supersededAt === undefined ? this.#live(last) : this.#superseded(last);
  }

  /**
   * How long a request waits for a reading. A superseded policy must not be used while the new one can be had, so the reading may take all
   * its time unless admin-svc is known or suspected to hang.
   */
  #patienceMs(isCurrent: boolean): number {
    if (isCurrent) return this.#reader.isAnswered ? maxHangWaitMs : 0;
    const isSuspected = !this.#reader.isAnswered || this.#watch.silentMs >= suspectedSilenceMs;
    return isSuspected ? maxHangWaitMs : Number.POSITIVE_INFINITY;
  }

  #superseded(last: KnownPolicy): Resolved {
    this.#supersededServed.inc();
    return { caller: unexpired(last.caller), generation: last.generation, isSuperseded: true };
  }

  /** A policy as it counts now: what was not superseded holds up to the generation that was applied. */
  #live({ caller, generation }: KnownPolicy): Resolved {
    this.note(generation);
    const inForce = generation > this.#applied ? generation : this.#applied;
    return { caller: unexpired(caller), generation: inForce, isSuperseded: false };
  }

  /** Until `stop()`. Settles when the first answer is in, or never. */
  watch(): Promise<void> {
    return this.#watch.start();
  }

  #apply({ generation, keyHashes, ...message }: WatchPolicyResponse): bigint {
    // A reconnect at the generation that is in force has missed nothing.
    const all = message.all && generation !== this.#applied;
    if (all) this.#policies.supersedeAll(generation);
    this.#policies.supersede(keyHashes, generation);
    this.#reader.heard(all ? null : keyHashes);
    this.#applied = generation;
    this.note(generation);
    if (all || keyHashes.length > 0) this.#changed(all ? null : keyHashes);
    return this.#applied;
  }

  stop(): void {
    this.#watch.stop();
    this.#client.close();
  }
}

/** An expiry needs no message to take effect. */
function unexpired(caller: Caller | undefined): Caller | undefined {
  const expires = caller?.expiresAtMs;
  return expires !== undefined && Number(expires) <= Date.now() ? undefined : caller;
}

/** The outcome of `work`, or undefined when that takes longer. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result | undefined> {
  if (ms === Number.POSITIVE_INFINITY) return work;
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
