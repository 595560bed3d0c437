/**
 * Cache of policies, with marks for policies changed since they were read. It reads nothing itself.
 *
 * A changed policy is kept as a fallback for an outage of admin-svc. A reading started before a change is refused after it: without this check a revoked
 * setting would come back to life.
 */
const maxPolicies = 100_000;

export interface CachedPolicy<Value> {
  /** The record; absent when admin-svc does not know a record of this name. */
  readonly value: Value | undefined;
  readonly generation: bigint;
  /** Time of the reading by performance.now(), so a clock step cannot revive a policy. */
  readonly filledAt: number;
  /** Time of the last attempt to read, answered or not: an outage must not make every request wait for it. */
  requestedAt: number;
  /** Time at which this process learned of a change. */
  supersededAt?: number;
}

export class PolicyCache<Value> {
  readonly #policies = new Map<string, CachedPolicy<Value>>();
  /** Generation of the last change of each name, for readings under way. */
  readonly #changed = new Map<string, bigint>();
  /** Generation of the last change of all names. */
  #allChanged = 0n;

  get(name: string): CachedPolicy<Value> | undefined {
    return this.#policies.get(name);
  }

  /** True when the policy has changed after `generation`. */
  isOutdated(name: string, generation: bigint): boolean {
    return generation < this.#allChanged || generation < (this.#changed.get(name) ?? 0n);
  }

  /** Stores a reading, unless it is outdated. Above 100,000 entries the oldest reading is dropped. */
  store(name: string, policy: CachedPolicy<Value>): void {
    if (this.isOutdated(name, policy.generation)) return;
    this.#policies.delete(name);
    this.#policies.set(name, policy);
    if (this.#policies.size <= maxPolicies) return;
    const oldest = this.#policies.keys().next();
    if (oldest.done !== true) this.#policies.delete(oldest.value);
  }

  /** Marks the named policies as changed. */
  supersede(names: readonly string[], generation: bigint): void {
    const now = performance.now();
    for (const name of names) {
      mark(this.#policies.get(name), generation, now);
      this.#changed.set(name, generation);
    }
    if (this.#changed.size <= maxPolicies) return;
    this.#allChanged = generation;
    this.#changed.clear();
  }

  /** Marks all policies as changed. */
  supersedeAll(generation: bigint): void {
    const now = performance.now();
    for (const policy of this.#policies.values()) mark(policy, generation, now);
    this.#allChanged = generation;
    this.#changed.clear();
  }
}

/**
 * The first change counts, because the time limit for the last policy starts there. A policy read at the generation of the change already includes it:
 * messages often arrive after the reading they would trigger.
 */
function mark(
  policy: { readonly generation: bigint; supersededAt?: number } | undefined,
  generation: bigint,
  now: number,
): void {
  if (policy && policy.generation < generation) policy.supersededAt ??= now;
}
