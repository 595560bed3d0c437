/**
 * What a process knows about keys: resolved once, kept while the policy that it stands on is in force.
 *
 * An entry is dropped when the watch says so, and a fill that began before an invalidation is not stored after it: without that
 * comparison a revoked setting comes back to life. When admin-svc cannot be reached, a known key keeps working for 300 s and an
 * unknown one is 503, never 401: nobody knows.
 */
import { type DescMessage, type MessageShape, create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  AccessService,
  type Caller,
  CallerSchema,
  type WatchPolicyResponse,
} from "../gen/sluice/admin/v1/access_service_pb.ts";
import { Fault, FaultOrigin, FaultReason } from "./fault.ts";
import type { Logger } from "./log.ts";
import { type Registry, gauge } from "./metrics.ts";
import { PolicyWatch, type PolicyWatchOptions } from "./policy-watch.ts";
import { call, serviceMetadata } from "./rpc/dial.ts";
import { strangeIn, unknownTo } from "./rpc/knowledge.ts";
import type { ServiceToken } from "./rpc/service-token.ts";
import { SharedGuardrails } from "./shared-guardrails.ts";
import type { TraceHeaders } from "./tracing/context.ts";
import { invalid } from "./validation/problems.ts";

const freshMs = 30_000;
/** While the watch is silent nothing vouches for an entry, so it is asked for again soon. */
const freshUnwatchedMs = 2_000;
const staleLimitMs = 300_000;
const unknownMs = 5_000;
const resolveTimeoutMs = 2_000;
/** Heartbeats come every second. */
const silenceMs = 3_000;
const maxEntries = 100_000;

interface Entry {
  readonly caller: Caller | undefined;
  readonly generation: bigint;
  /** performance.now(), so that a clock step cannot revive an entry. */
  readonly filledAt: number;
  /** When admin-svc was last asked for it, with or without an answer: an outage must not make every request wait for it. */
  askedAt: number;
}

/** What a turn stands on. */
export interface Resolved {
  /** Absent when the key is unknown, disabled or expired. */
  readonly caller: Caller | undefined;
  /** The policy generation that this is in force of. */
  readonly generation: bigint;
}

export interface AccessOptions extends PolicyWatchOptions {
  readonly registry: Registry;
}

export class Access {
  readonly #client: Client;
  readonly #token: ServiceToken;
  readonly #log: Logger;
  readonly #watch: PolicyWatch;
  readonly #entries = new Map<string, Entry>();
  readonly #filling = new Map<string, Promise<Entry>>();
  readonly #guardrails = new SharedGuardrails();
  /** Generation of the last invalidation of a key, for fills under way. */
  readonly #invalidated = new Map<string, bigint>();
  #flushed = 0n;
  #seen = 0n;
  #applied = 0n;
  /** Whether the last question to admin-svc was answered. */
  #reachable = true;
  #changed: (keyHashes: readonly string[] | null) => void = () => {};

  constructor({ registry, ...options }: AccessOptions) {
    this.#client = options.client;
    this.#token = options.token;
    this.#log = options.log;
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
   * Who a key belongs to, as of `minGeneration` or later.
   * @param trace of the request that asks first, when admin-svc has to be asked
   * @throws Fault UNAVAILABLE when that cannot be found out
   */
  resolve(keyHash: string, minGeneration: bigint = this.#seen, trace?: TraceHeaders): Resolved | Promise<Resolved> {
    const entry = this.#entries.get(keyHash);
    if (entry) {
      const now = performance.now();
      const current = entry.generation >= minGeneration || this.#applied >= minGeneration;
      const usable = current && now - entry.filledAt < (entry.caller ? staleLimitMs : unknownMs);
      if (usable && now - entry.askedAt < this.#lifetime(entry)) return this.#live(entry);
      if (usable && entry.caller) return this.#refresh(keyHash, entry, trace);
    }
    return this.#fill(keyHash, minGeneration, trace).then((filled) => this.#live(filled));
  }

  #lifetime(entry: Entry): number {
    if (!entry.caller) return unknownMs;
    return this.#watch.silentMs < silenceMs ? freshMs : freshUnwatchedMs;
  }

  /** Answers from a stale entry only when admin-svc cannot. Once that is known, nobody waits for it: the question goes on behind the answer. */
  async #refresh(keyHash: string, entry: Entry, trace: TraceHeaders | undefined): Promise<Resolved> {
    entry.askedAt = performance.now();
    const filling = this.#fill(keyHash, 0n, trace).catch(() => entry);
    return this.#live(this.#reachable ? await filling : entry);
  }

  #fill(keyHash: string, minGeneration: bigint, trace: TraceHeaders | undefined): Promise<Entry> {
    const running = this.#filling.get(keyHash);
    // A fill that is under way may have read before the generation that is asked for now.
    const fetch = () => this.#fetch(keyHash, trace);
    if (running) return running.then((entry) => (entry.generation >= minGeneration ? entry : fetch()));
    const filling = fetch()
      // Read before a change that was heard of meanwhile, and perhaps acknowledged.
      .then((entry) => (this.#outdated(keyHash, entry) ? fetch() : entry))
      .finally(() => this.#filling.delete(keyHash));
    this.#filling.set(keyHash, filling);
    return filling;
  }

  async #fetch(keyHash: string, trace: TraceHeaders | undefined): Promise<Entry> {
    const request = create(AccessService.method.resolveKey.input, { keyHash, refusesUnknown: true });
    const metadata = serviceMetadata(this.#token, { trace });
    const response = await call(
      this.#client,
      AccessService.method.resolveKey,
      request,
      metadata,
      resolveTimeoutMs,
    ).catch((cause: unknown) => {
      this.#reachable = false;
      throw new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.ADMIN, cause });
    });
    this.#reachable = true;
    this.#requireUnderstood(response.caller);
    if (response.caller) this.#guardrails.share(response.caller);
    const now = performance.now();
    const entry: Entry = { caller: response.caller, generation: response.generation, filledAt: now, askedAt: now };
    this.note(response.generation);
    if (!this.#outdated(keyHash, entry)) this.#store(keyHash, entry);
    return entry;
  }

  /** What this process has never heard of it cannot enforce: the key waits until it is of a newer build. */
  #requireUnderstood(caller: Caller | undefined): void {
    const path = caller && strangeIn(CallerSchema, caller);
    if (path === undefined) return;
    this.#log.error({ reason: path }, "the policy of a key needs a newer build of this process");
    throw new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.ADMIN });
  }

  #outdated(keyHash: string, { generation }: Entry): boolean {
    return generation < this.#flushed || generation < (this.#invalidated.get(keyHash) ?? 0n);
  }

  #store(keyHash: string, entry: Entry): void {
    this.#entries.delete(keyHash);
    this.#entries.set(keyHash, entry);
    if (this.#entries.size > maxEntries) {
      const oldest = this.#entries.keys().next();
      if (oldest.done !== true) this.#entries.delete(oldest.value);
    }
  }

  /** An entry as it counts now: an expiry needs no message to take effect, and what was not invalidated holds up to what was applied. */
  #live(entry: Entry): Resolved {
    const expires = entry.caller?.expiresAtMs;
    const expired = expires !== undefined && Number(expires) <= Date.now();
    const generation = entry.generation > this.#applied ? entry.generation : this.#applied;
    return { caller: expired ? undefined : entry.caller, generation };
  }

  /** Until `stop()`. Settles when the first answer is in, or never. */
  watch(): Promise<void> {
    return this.#watch.start();
  }

  #apply(message: WatchPolicyResponse): bigint {
    // A reconnect at the generation that is in force has missed nothing: an outage must not empty the cache that outlives it.
    const all = message.all && message.generation !== this.#applied;
    if (all) {
      this.#flushed = message.generation;
      this.#entries.clear();
      this.#invalidated.clear();
    }
    for (const keyHash of message.keyHashes) {
      this.#entries.delete(keyHash);
      this.#invalidated.set(keyHash, message.generation);
    }
    if (this.#invalidated.size > maxEntries) {
      this.#flushed = message.generation;
      this.#invalidated.clear();
    }
    this.#applied = message.generation;
    this.note(message.generation);
    if (all || message.keyHashes.length > 0) this.#changed(all ? null : message.keyHashes);
    return this.#applied;
  }

  stop(): void {
    this.#watch.stop();
    this.#client.close();
  }
}
