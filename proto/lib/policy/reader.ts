/**
 * Reads policies from admin-svc, with one call at a time for each name. A result is discarded if the policy changed
 * during the call.
 */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import type { CachedPolicy, PolicyCache } from "./cache.ts";
import type { TraceHeaders } from "../tracing/context.ts";

export interface PolicyAnswer<Value> {
  readonly value: Value | undefined;
  /** Policy generation at which the policy was read. */
  readonly generation: bigint;
}

/** Reads a policy. @throws the error of the call */
export type FetchPolicy<Value> = (name: string, trace: TraceHeaders | undefined) => Promise<PolicyAnswer<Value>>;

export class PolicyReader<Value> {
  readonly #fetchPolicy: FetchPolicy<Value>;
  readonly #policies: PolicyCache<Value>;
  /** Running reads that began after the last change of their policy, by name. */
  readonly #reading = new Map<string, Promise<CachedPolicy<Value>>>();
  #isAnswered = true;

  constructor(fetchPolicy: FetchPolicy<Value>, policies: PolicyCache<Value>) {
    this.#fetchPolicy = fetchPolicy;
    this.#policies = policies;
  }

  /** Whether the last read succeeded, or admin-svc has sent a message since. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /**
   * Handles a message that admin-svc sends after it has read its database. @param names of changed policies; null for
   * all
   */
  invalidate(names: readonly string[] | null): void {
    this.#isAnswered = true;
    if (names === null) this.#reading.clear();
    for (const name of names ?? []) this.#reading.delete(name);
  }

  /** Reads a policy and caches it. @throws Fault UNAVAILABLE when it cannot be read */
  read(name: string, minGeneration: bigint, trace: TraceHeaders | undefined): Promise<CachedPolicy<Value>> {
    const fetch = () => this.#fetch(name, trace);
    const running = this.#reading.get(name);
    // A running read may have begun before the requested generation.
    if (running) return running.then((policy) => (policy.generation >= minGeneration ? policy : fetch()));
    const reading = fetch()
      // A change during the read, perhaps acknowledged already, has outdated the result.
      .then((policy) => (this.#policies.isOutdated(name, policy.generation) ? fetch() : policy))
      .finally(() => {
        if (this.#reading.get(name) === reading) this.#reading.delete(name);
      });
    this.#reading.set(name, reading);
    return reading;
  }

  async #fetch(name: string, trace: TraceHeaders | undefined): Promise<CachedPolicy<Value>> {
    const { value, generation } = await this.#fetchPolicy(name, trace).catch((cause: unknown) => {
      this.#isAnswered = !isUnreachable(cause) && this.#isAnswered;
      throw new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.ADMIN, cause });
    });
    this.#isAnswered = true;
    const now = performance.now();
    const policy: CachedPolicy<Value> = { value, generation, filledAt: now, requestedAt: now };
    this.#policies.store(name, policy);
    return policy;
  }
}

/**
 * Whether an error means that admin-svc or its database is unavailable. Any other failure concerns the policy itself,
 * and must not be hidden by using an older policy.
 */
export const isOutage = (error: unknown): boolean => error instanceof Fault && isUnreachable(error.cause);

export const isUnreachable = (cause: unknown): boolean =>
  cause instanceof Fault &&
  (cause.reason === FaultReason.UNAVAILABLE || cause.reason === FaultReason.DEADLINE_EXCEEDED);
