/**
 * Policies of keys as this process last read them, with those marked that were changed since. It reads nothing itself.
 *
 * A changed policy is kept, because it is the last one that is known while admin-svc cannot be asked. A reading that began before a change
 * is refused after it: without that comparison a revoked setting comes back to life.
 */
import type { Caller } from "../gen/sluice/admin/v1/access_service_pb.ts";

const maxPolicies = 100_000;

export interface KnownPolicy {
  /** Absent when the key is unknown, disabled or expired. */
  readonly caller: Caller | undefined;
  readonly generation: bigint;
  /** performance.now(), so that a clock step cannot revive a policy. */
  readonly filledAt: number;
  /** When admin-svc was last asked for it, with or without an answer: an outage must not make every request wait for it. */
  askedAt: number;
  /** When this process heard of a change of it. */
  supersededAt?: number;
}

export class PolicyCache {
  readonly #policies = new Map<string, KnownPolicy>();
  /** Generation of the last change of a key, for readings under way. */
  readonly #changed = new Map<string, bigint>();
  /** Generation of the last change of every key. */
  #allChanged = 0n;

  get(keyHash: string): KnownPolicy | undefined {
    return this.#policies.get(keyHash);
  }

  /** True when the key was changed after `generation`. */
  isOutdated(keyHash: string, generation: bigint): boolean {
    return generation < this.#allChanged || generation < (this.#changed.get(keyHash) ?? 0n);
  }

  /** Keeps what was read, unless it is outdated. Beyond 100,000 keys the one that was read longest ago is forgotten. */
  store(keyHash: string, policy: KnownPolicy): void {
    if (this.isOutdated(keyHash, policy.generation)) return;
    this.#policies.delete(keyHash);
    this.#policies.set(keyHash, policy);
    if (this.#policies.size <= maxPolicies) return;
    const oldest = this.#policies.keys().next();
    if (oldest.done !== true) this.#policies.delete(oldest.value);
  }

  /** A change of these keys. */
  supersede(keyHashes: readonly string[], generation: bigint): void {
    const now = performance.now();
    for (const keyHash of keyHashes) {
      mark(this.#policies.get(keyHash), now);
      this.#changed.set(keyHash, generation);
    }
    if (this.#changed.size <= maxPolicies) return;
    this.#allChanged = generation;
    this.#changed.clear();
  }

  /** A change of every key. */
  supersedeAll(generation: bigint): void {
    const now = performance.now();
    for (const policy of this.#policies.values()) mark(policy, now);
    this.#allChanged = generation;
    this.#changed.clear();
  }
}

/** The first change counts: how long the last policy may be served is counted from there. */
function mark(policy: KnownPolicy | undefined, now: number): void {
  if (policy) policy.supersededAt ??= now;
}
