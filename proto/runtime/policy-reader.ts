/** Asks admin-svc for policies: one question for each at a time, and none whose answer was outdated on its way. */
import { Fault, FaultOrigin, FaultReason } from "./fault.ts";
import type { KnownPolicy, PolicyCache } from "./policy-cache.ts";
import type { TraceHeaders } from "./tracing/context.ts";

export interface PolicyAnswer<Value> {
  readonly value: Value | undefined;
  /** The policy generation at which this was read. */
  readonly generation: bigint;
}

/** @throws what the call failed with */
export type AskPolicy<Value> = (name: string, trace: TraceHeaders | undefined) => Promise<PolicyAnswer<Value>>;

export class PolicyReader<Value> {
  readonly #ask: AskPolicy<Value>;
  readonly #policies: PolicyCache<Value>;
  /** Readings under way that began after the last change of what they read. */
  readonly #reading = new Map<string, Promise<KnownPolicy<Value>>>();
  #isAnswered = true;

  constructor(ask: AskPolicy<Value>, policies: PolicyCache<Value>) {
    this.#ask = ask;
    this.#policies = policies;
  }

  /** False after a reading that failed, until admin-svc answers one or is heard. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** A message of admin-svc, which read its database for it, says that these have changed; null: everything. */
  heard(names: readonly string[] | null): void {
    this.#isAnswered = true;
    if (names === null) this.#reading.clear();
    for (const name of names ?? []) this.#reading.delete(name);
  }

  /** Reads a policy and keeps it. @throws Fault UNAVAILABLE */
  read(name: string, minGeneration: bigint, trace: TraceHeaders | undefined): Promise<KnownPolicy<Value>> {
    const fetch = () => this.#fetch(name, trace);
    const running = this.#reading.get(name);
    // A reading that is under way may have begun before the generation that is asked for now.
    if (running) return running.then((policy) => (policy.generation >= minGeneration ? policy : fetch()));
    const reading = fetch()
      // Read before a change that was heard of meanwhile, and perhaps acknowledged.
      .then((policy) => (this.#policies.isOutdated(name, policy.generation) ? fetch() : policy))
      .finally(() => {
        if (this.#reading.get(name) === reading) this.#reading.delete(name);
      });
    this.#reading.set(name, reading);
    return reading;
  }

  async #fetch(name: string, trace: TraceHeaders | undefined): Promise<KnownPolicy<Value>> {
    const { value, generation } = await this.#ask(name, trace).catch((cause: unknown) => {
      this.#isAnswered = !isAway(cause) && this.#isAnswered;
      throw new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.ADMIN, cause });
    });
    this.#isAnswered = true;
    const now = performance.now();
    const policy: KnownPolicy<Value> = { value, generation, filledAt: now, askedAt: now };
    this.#policies.store(name, policy);
    return policy;
  }
}

/** True when a reading failed because admin-svc or its database is away. Any other failure is about the policy itself, which no older one may replace. */
export const isOutage = (error: unknown): boolean => error instanceof Fault && isAway(error.cause);

const isAway = (cause: unknown): boolean =>
  cause instanceof Fault &&
  (cause.reason === FaultReason.UNAVAILABLE || cause.reason === FaultReason.DEADLINE_EXCEEDED);
