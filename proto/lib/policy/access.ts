/**
 * Finds the policies of keys (callers), and the inactive end users of workspaces.
 *
 * While admin-svc or its database is unavailable, a known key can be used for 300 s with its last policy; an unknown
 * key gets status 503, never 401.
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

/** The policy with which a turn runs. */
export interface ResolvedPolicy {
  /** The key with its policy; undefined when the key is unknown, disabled or expired. */
  readonly caller: Caller | undefined;
  /** Policy generation up to which the policy is current. */
  readonly generation: bigint;
  /** Whether a newer policy exists but could not be read. */
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
  /** The last acknowledged generation, which is in force together with the providers of the database. */
  #acknowledged = 0n;
  #changed: (keyHashes: readonly string[] | null) => void = () => {};
  #announced: (generation: bigint, keyHashes: readonly string[] | null) => void = () => {};
  #readProviders: (() => Promise<void>) | undefined;
  /** Running read of the providers in the database; nothing is acknowledged before it ends. */
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

  /**
   * Whether admin-svc has answered since the start. Before that no key can be resolved, and the process is not ready.
   */
  get ready(): boolean {
    return this.silentMs !== Number.POSITIVE_INFINITY;
  }

  get silentMs(): number {
    return this.#watch.silentMs;
  }

  /** Reports a hindrance when policies are unknown or policy changes do not arrive; undefined otherwise. */
  findHindrance(): HindranceFinding | undefined {
    const { silentMs } = this;
    if (!this.ready) return { reason: "admin-svc was not reached since the start", isPartial: false };
    if (silentMs >= maxUnverifiedMs) return { reason: "the last known policies are too old", isPartial: false };
    return silentMs >= maxSilenceMs ? { reason: "admin-svc does not answer", isPartial: true } : undefined;
  }

  /** The highest generation that this process has heard of. */
  get generation(): bigint {
    return this.#seen;
  }

  /**
   * Records a generation learned in another way, such as from the answer to a write, so older policies are read
   * again.
   */
  note(generation: bigint): void {
    if (generation > this.#seen) this.#seen = generation;
  }

  /**
   * Checks that admin-svc knows all fields of a request: an earlier build would silently drop unknown ones.
   * @throws Fault INVALID_REQUEST naming the field
   */
  requireKnown<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): void {
    const path = unsupportedFieldIn(this.#watch.knows, schema, message);
    if (path !== undefined) throw invalid(path, "not known to admin-svc, which is of an earlier build");
  }

  /**
   * Sets a listener for changes, called before a change is acknowledged. It gets the hashes of the changed keys, or
   * null for all keys.
   */
  onChange(listener: (keyHashes: readonly string[] | null) => void): void {
    this.#changed = listener;
  }

  /**
   * Sets a listener for announced generations. It also gets the hashes of the changed keys: null, for all keys, when a
   * connection begins, and none at a heartbeat. Call it before `watch`.
   */
  onGeneration(listener: (generation: bigint, keyHashes: readonly string[] | null) => void): void {
    this.#announced = listener;
  }

  /**
   * Sets a listener that is called when a connection to admin-svc begins and when providers in the database have
   * changed. A change is acknowledged when its promise settles; the promises must settle in the order of the calls, and
   * never reject. Call it before `watch`.
   */
  onProviders(listener: () => Promise<void>): void {
    this.#readProviders = listener;
  }

  /** Sets a listener for endpoint news from other processes. Call it before `watch`. */
  onEndpoints(listener: (news: readonly EndpointChange[]) => void): void {
    this.#watch.onEndpointNews(listener);
  }

  /** Sends news about an endpoint to other processes. Delivery is not guaranteed. */
  reportEndpoint(news: EndpointChange): void {
    this.#watch.reportEndpoint(news, this.#acknowledged);
  }

  /**
   * Finds the policy of a key, as of `minGeneration` or later.
   * @param trace headers of the request, for a call of admin-svc that it causes
   * @throws Fault UNAVAILABLE when the policy cannot be read
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
    // A key expires without a message from admin-svc.
    const isExpired = expiresAtMs !== undefined && Number(expiresAtMs) <= Date.now();
    return { caller: isExpired ? undefined : value, generation, isSuperseded };
  }

  /**
   * Finds the end users of a workspace that are registered but inactive, as of `minGeneration` or later.
   * @throws Fault UNAVAILABLE when they cannot be read
   */
  async inactiveEndUsers(workspaceId: string, minGeneration: bigint = this.#seen): Promise<ReadonlySet<string>> {
    const { value } = await this.#endUsers.resolve(endUsersName(workspaceId), minGeneration);
    return value ?? new Set();
  }

  /** Watches for policy changes until `stop()`. Settles when the first message is in force, or never. */
  watch(): Promise<void> {
    return this.#watch.start();
  }

  #apply({ generation, keyHashes, ...message }: WatchPolicyResponse): bigint | Promise<bigint> {
    this.#announced(generation, message.all ? null : keyHashes);
    // The database was restored from a backup, or another admin-svc has not read the last change yet.
    if (message.all && generation < this.applied) this.#goBack(generation);
    // After a reconnect at the current generation, no change was missed.
    const all = message.all && generation !== this.applied;
    for (const policies of [this.#callers, this.#endUsers]) policies.invalidate(all ? null : keyHashes, generation);
    this.applied = generation;
    this.note(generation);
    if (all || keyHashes.length > 0) this.#changed(all ? null : keyHashes);
    // Another build of admin-svc may know providers that the earlier one did not.
    if (this.#readProviders && (message.all || keyHashes.includes(providersName))) this.#readAgain(this.#readProviders);
    if (!this.#reading) return (this.#acknowledged = generation);
    return this.#reading.then(() => (this.#acknowledged = generation));
  }

  /**
   * Goes back to an earlier generation and forgets all policies, because policies read before would count as newer than
   * every policy of the restored database.
   */
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
