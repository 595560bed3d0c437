/** Reads policies from admin-svc: one call at a time for each name; a result outdated by a change during the call is discarded. */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import type { CachedPolicy, PolicyCache } from "./cache.ts";
import type { TraceHeaders } from "../tracing/context.ts";

export interface PolicyAnswer<Value> {
  readonly value: Value | undefined;
  /** Policy generation of the reading. */
  readonly generation: bigint;
}

/** @throws the error of the call */
export type FetchPolicy<Value> = (name: string, trace: TraceHeaders | undefined) => Promise<PolicyAnswer<Value>>;

export class PolicyReader<Value> {
  readonly #fetchPolicy: FetchPolicy<Value>;
  readonly #policies: PolicyCache<Value>;
  /** Readings under way, started after the last change of their policy. */
  readonly #reading = new Map<string, Promise<CachedPolicy<Value>>>();
  #isAnswered = true;

  constructor(fetchPolicy: FetchPolicy<Value>, policies: PolicyCache<Value>) {
    this.#fetchPolicy = fetchPolicy;
    this.#policies = policies;
  }

  /** False after a failed reading, until admin-svc answers or sends a message. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Processes a message of admin-svc, sent after a read of its database: the changed names, or null for all. */
  invalidate(names: readonly string[] | null): void {
    this.#isAnswered = true;
    if (names === null) this.#reading.clear();
    for (const name of names ?? []) this.#reading.delete(name);
  }

  /** Reads a policy and caches it. @throws Fault UNAVAILABLE */
  read(name: string, minGeneration: bigint, trace: TraceHeaders | undefined): Promise<CachedPolicy<Value>> {
    const fetch = () => this.#fetch(name, trace);
    const running = this.#reading.get(name);
    // A reading under way may have started before the requested generation.
    if (running) return running.then((policy) => (policy.generation >= minGeneration ? policy : fetch()));
    const reading = fetch()
      // A change during the reading, perhaps already acknowledged, has outdated it.
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
 * True when admin-svc or its database is unreachable. Any other failure concerns the policy itself, and an older policy must not replace
 * it.
 */
export const isOutage = (error: unknown): boolean => error instanceof Fault && isUnreachable(error.cause);

export const isUnreachable = (cause: unknown): boolean =>
  cause instanceof Fault &&
  (cause.reason === FaultReason.UNAVAILABLE || cause.reason === FaultReason.DEADLINE_EXCEEDED);
