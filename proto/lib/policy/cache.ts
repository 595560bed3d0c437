/**
 * Cache of policies, which marks policies that have changed since they were read. It reads nothing itself.
 *
 * A changed policy is kept as a fallback for an outage of admin-svc. A policy whose read began before a change is
 * refused after the change; otherwise a withdrawn permission could come back.
 */
const maxPolicies = 100_000;

export interface CachedPolicy<Value> {
  /** The record; undefined when admin-svc has no record of this name. */
  readonly value: Value | undefined;
  readonly generation: bigint;
  /** Time when the policy was read, by performance.now(), so setting the clock cannot revive a policy. */
  readonly filledAt: number;
  /** Time of the last attempt to read, successful or not: an outage must not make every request wait for an attempt. */
  requestedAt: number;
  /** Time when this process learned that the policy has changed. */
  supersededAt?: number;
}

export class PolicyCache<Value> {
  readonly #policies = new Map<string, CachedPolicy<Value>>();
  /** Generation of the last change of each name, by which results of running reads are checked. */
  readonly #changed = new Map<string, bigint>();
  /** Generation of the last change that affected all names. */
  #allChanged = 0n;

  get(name: string): CachedPolicy<Value> | undefined {
    return this.#policies.get(name);
  }

  /** Whether the policy of a name has changed after `generation`. */
  isOutdated(name: string, generation: bigint): boolean {
    return generation < this.#allChanged || generation < (this.#changed.get(name) ?? 0n);
  }

  /**
   * Stores a policy that was read, unless it is outdated. Beyond 100,000 policies, the one read longest ago is dropped.
   */
  store(name: string, policy: CachedPolicy<Value>): void {
    if (this.isOutdated(name, policy.generation)) return;
    this.#policies.delete(name);
    this.#policies.set(name, policy);
    if (this.#policies.size <= maxPolicies) return;
    const oldest = this.#policies.keys().next();
    if (oldest.done !== true) this.#policies.delete(oldest.value);
  }

  /** Marks the policies of these names as changed. */
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
 * The time of the first change counts, because the time limit of the last policy starts with it. A policy read at the
 * generation of the change includes it already: messages often arrive after the read that they would cause.
 */
function mark(
  policy: { readonly generation: bigint; supersededAt?: number } | undefined,
  generation: bigint,
  now: number,
): void {
  if (policy && policy.generation < generation) policy.supersededAt ??= now;
}
