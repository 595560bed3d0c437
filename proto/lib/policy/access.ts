/**
 * Resolves keys to their callers, and workspaces to their inactive end users.
 *
 * While admin-svc or its database is unreachable, a known key keeps working for 300 s on its last policy, and an unknown key gets 503, never 401.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import type { Caller, WatchPolicyResponse } from "../../gen/sluice/admin/v1/access_service_pb.ts";
import { Counter, type Registry, gauge } from "../metrics/metrics.ts";
import type { HindranceFinding } from "../process/hindrances.ts";
import { Policies, type PolicyState, type ServedPolicy, maxUnverifiedMs, maxSilenceMs } from "./policies.ts";
import { callerReader, endUserReader } from "./questions.ts";
import { endUsersName } from "./end-users-name.ts";
import { providersName } from "./providers-name.ts";
import { type EndpointChange, PolicyWatch, type PolicyWatchOptions } from "./watch.ts";
import { unsupportedFieldIn } from "../rpc/supported-fields.ts";
import type { TraceHeaders } from "../tracing/context.ts";
import { invalid } from "../validation/problems.ts";

/** The policy used for a turn. */
export interface ResolvedPolicy {
  /** Absent when the key is unknown, disabled or expired. */
  readonly caller: Caller | undefined;
  /** Generation of the policy in force. */
  readonly generation: bigint;
  /** True when a newer policy exists but could not be read. */
  readonly isSuperseded: boolean;
}

export interface AccessOptions extends PolicyWatchOptions {
  readonly registry: Registry;
}

export class Access implements PolicyState {
  readonly #client: Client;
  readonly #watch: PolicyWatch;
  readonly #callers: Policies<Caller>;
  readonly #endUsers: Policies<ReadonlySet<string>>;
  readonly #supersededServed: Counter;
  #seen = 0n;
  applied = 0n;
  /** The last acknowledged generation: in force with the providers of the database. */
  #acknowledged = 0n;
  #changed: (keyHashes: readonly string[] | null) => void = () => {};
  #announced: (generation: bigint, keyHashes: readonly string[] | null) => void = () => {};
  #readProviders: (() => Promise<void>) | undefined;
  /** A reading of the providers under way: nothing is acknowledged before its end. */
  #reading: Promise<void> | undefined;

  constructor({ registry, ...options }: AccessOptions) {
    this.#client = options.client;
    this.#watch = new PolicyWatch(options, (message) => this.#apply(message));
    this.#callers = new Policies(callerReader(options), this);
    this.#endUsers = new Policies(endUserReader(options), this);
    gauge(registry, "sluice_policy_generation", "Highest policy generation in force in this process.", () =>
      Number(this.#acknowledged),
    );
    gauge(
      registry,
      "sluice_policy_watch_silence_seconds",
      "Seconds since the last message of the policy watch, -1 before the first; above 3 the process serves on its last known policy.",
      () => (this.ready ? this.silentMs / 1000 : -1),
    );
    this.#supersededServed = new Counter({
      name: "sluice_policy_superseded_served_total",
      help: "Requests that were served on a key's last known policy although a newer one exists, because admin-svc was unreachable.",
      registers: [registry],
    });
  }

  /** True once admin-svc has answered: before that no key can be resolved, and the process is not ready. */
  get ready(): boolean {
    return this.silentMs !== Number.POSITIVE_INFINITY;
  }

  get silentMs(): number {
    return this.#watch.silentMs;
  }

  /** Whether policies are known, and policy changes arrive. */
  findHindrance(): HindranceFinding | undefined {
    const { silentMs } = this;
    if (!this.ready) return { reason: "admin-svc was not reached since the start", isPartial: false };
    if (silentMs >= maxUnverifiedMs) return { reason: "the last known policies are too old", isPartial: false };
    return silentMs >= maxSilenceMs ? { reason: "admin-svc does not answer", isPartial: true } : undefined;
  }

  /** The highest generation known to this process. */
  get generation(): bigint {
    return this.#seen;
  }

  /** Records a generation learned elsewhere, such as from the answer to a write; older policies are read again. */
  note(generation: bigint): void {
    if (generation > this.#seen) this.#seen = generation;
  }

  /**
   * Checks a request with settings: an admin-svc of an earlier build would silently drop unknown fields.
   * @throws Fault INVALID_REQUEST naming the field
   */
  requireKnown<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): void {
    const path = unsupportedFieldIn(this.#watch.knows, schema, message);
    if (path !== undefined) throw invalid(path, "not known to admin-svc, which is of an earlier build");
  }

  /** Calls the listener with the affected keys, or null for every key, before each change is acknowledged. */
  onChange(listener: (keyHashes: readonly string[] | null) => void): void {
    this.#changed = listener;
  }

  /** Calls the listener with each announced generation, and the affected keys: null for every key at a greeting, none at a heartbeat. Call it before `watch`. */
  onGeneration(listener: (generation: bigint, keyHashes: readonly string[] | null) => void): void {
    this.#announced = listener;
  }

  /**
   * Calls the listener at each greeting of admin-svc and when the providers in the database have changed. Changes are acknowledged when its promise
   * settles: the promises must settle in the order of the calls, and not reject. Call it before `watch`.
   */
  onProviders(listener: () => Promise<void>): void {
    this.#readProviders = listener;
  }

  /** Calls the listener with endpoint news from other processes. Call it before `watch`. */
  onEndpoints(listener: (news: readonly EndpointChange[]) => void): void {
    this.#watch.onEndpointNews(listener);
  }

  /** Reports an observation about an endpoint to the other processes. Delivery is not guaranteed. */
  reportEndpoint(news: EndpointChange): void {
    this.#watch.reportEndpoint(news, this.#acknowledged);
  }

  /**
   * The caller of a key, as of `minGeneration` or later.
   * @param trace of the request, when it causes a call to admin-svc
   * @throws Fault UNAVAILABLE when the caller cannot be read
   */
  resolve(
    keyHash: string,
    minGeneration: bigint = this.#seen,
    trace?: TraceHeaders,
  ): ResolvedPolicy | Promise<ResolvedPolicy> {
    const served = this.#callers.resolve(keyHash, minGeneration, trace);
    return served instanceof Promise ? served.then((late) => this.#resolved(late)) : this.#resolved(served);
  }

  #resolved({ value, generation, isSuperseded }: ServedPolicy<Caller>): ResolvedPolicy {
    if (isSuperseded) this.#supersededServed.inc();
    else this.note(generation);
    const expiresAtMs = value?.expiresAtMs;
    // An expiry takes effect without a message.
    const isExpired = expiresAtMs !== undefined && Number(expiresAtMs) <= Date.now();
    return { caller: isExpired ? undefined : value, generation, isSuperseded };
  }

  /**
   * Registered but inactive end users of a workspace, as of `minGeneration` or later.
   * @throws Fault UNAVAILABLE when they cannot be read
   */
  async inactiveEndUsers(workspaceId: string, minGeneration: bigint = this.#seen): Promise<ReadonlySet<string>> {
    const { value } = await this.#endUsers.resolve(endUsersName(workspaceId), minGeneration);
    return value ?? new Set();
  }

  /** Watches until `stop()`. Settles when the first message is in force, or never. */
  watch(): Promise<void> {
    return this.#watch.start();
  }

  #apply({ generation, keyHashes, ...message }: WatchPolicyResponse): bigint | Promise<bigint> {
    this.#announced(generation, message.all ? null : keyHashes);
    // The database was restored from a backup, or another admin-svc has not read the last change yet.
    if (message.all && generation < this.applied) this.#goBack(generation);
    // A reconnect at the current generation has missed nothing.
    const all = message.all && generation !== this.applied;
    for (const policies of [this.#callers, this.#endUsers]) policies.invalidate(all ? null : keyHashes, generation);
    this.applied = generation;
    this.note(generation);
    if (all || keyHashes.length > 0) this.#changed(all ? null : keyHashes);
    // Another build of admin-svc may know providers that the former one did not.
    if (this.#readProviders && (message.all || keyHashes.includes(providersName))) this.#readAgain(this.#readProviders);
    if (!this.#reading) return (this.#acknowledged = generation);
    return this.#reading.then(() => (this.#acknowledged = generation));
  }

  /** A policy of before would count as newer than every policy of the restored database. */
  #goBack(generation: bigint): void {
    for (const policies of [this.#callers, this.#endUsers]) policies.forget();
    this.#seen = generation;
  }

  #readAgain(read: () => Promise<void>): void {
    const reading: Promise<void> = read().then(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    this.#reading = reading;
  }

  stop(): void {
    this.#watch.stop();
    this.#client.close();
  }
}
