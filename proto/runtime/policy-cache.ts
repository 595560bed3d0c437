/**
 * Policies as this process last read them, with those marked that were changed since. It reads nothing itself.
 *
 * A changed policy is kept, because it is the last one that is known while admin-svc cannot be asked. A reading that began before a change
 * is refused after it: without that comparison a revoked setting comes back to life.
 */
const maxPolicies = 100_000;

export interface KnownPolicy<Value> {
  /** Absent when admin-svc knows nothing of that name. */
  readonly value: Value | undefined;
  readonly generation: bigint;
  /** performance.now(), so that a clock step cannot revive a policy. */
  readonly filledAt: number;
  /** When admin-svc was last asked for it, with or without an answer: an outage must not make every request wait for it. */
  askedAt: number;
  /** When this process heard of a change of it. */
  supersededAt?: number;
}

export class PolicyCache<Value> {
  readonly #policies = new Map<string, KnownPolicy<Value>>();
  /** Generation of the last change of each name, for readings under way. */
  readonly #changed = new Map<string, bigint>();
  /** Generation of the last change of everything. */
  #allChanged = 0n;

  get(name: string): KnownPolicy<Value> | undefined {
    return this.#policies.get(name);
  }

  /** True when it was changed after `generation`. */
  isOutdated(name: string, generation: bigint): boolean {
    return generation < this.#allChanged || generation < (this.#changed.get(name) ?? 0n);
  }

  /** Keeps what was read, unless it is outdated. Beyond 100,000 the one that was read longest ago is forgotten. */
  store(name: string, policy: KnownPolicy<Value>): void {
    if (this.isOutdated(name, policy.generation)) return;
    this.#policies.delete(name);
    this.#policies.set(name, policy);
    if (this.#policies.size <= maxPolicies) return;
    const oldest = this.#policies.keys().next();
    if (oldest.done !== true) this.#policies.delete(oldest.value);
  }

  /** A change of these. */
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

  /** A change of everything. */
  supersedeAll(generation: bigint): void {
    const now = performance.now();
    for (const policy of this.#policies.values()) mark(policy, generation, now);
    this.#allChanged = generation;
    this.#changed.clear();
  }
}

/**
 * The first change counts: how long the last policy may be served is counted from there. A policy that was read at the generation of a change
 * has it already: messages often come after the reading that they would ask for.
 */
function mark(
  policy: { readonly generation: bigint; supersededAt?: number } | undefined,
  generation: bigint,
  now: number,
): void {
  if (policy && policy.generation < generation) policy.supersededAt ??= now;
}
