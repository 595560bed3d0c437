/** Asks admin-svc for the policies of keys: one question for a key at a time, and none whose answer was outdated on its way. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { AccessService, type Caller, CallerSchema } from "../gen/sluice/admin/v1/access_service_pb.ts";
import { Fault, FaultOrigin, FaultReason } from "./fault.ts";
import type { Logger } from "./log.ts";
import type { KnownPolicy, PolicyCache } from "./policy-cache.ts";
import { call, serviceMetadata } from "./rpc/dial.ts";
import { strangeIn } from "./rpc/knowledge.ts";
import type { ServiceToken } from "./rpc/service-token.ts";
import { SharedGuardrails } from "./shared-guardrails.ts";
import type { TraceHeaders } from "./tracing/context.ts";

const resolveTimeoutMs = 2_000;

export interface PolicyReaderOptions {
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
}

export class PolicyReader {
  readonly #options: PolicyReaderOptions;
  readonly #policies: PolicyCache;
  /** Readings under way that began after the last change of their key. */
  readonly #reading = new Map<string, Promise<KnownPolicy>>();
  readonly #guardrails = new SharedGuardrails();
  #isAnswered = true;

  constructor(options: PolicyReaderOptions, policies: PolicyCache) {
    this.#options = options;
    this.#policies = policies;
  }

  /** False after a reading that failed, until admin-svc answers one or is heard. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** A message of admin-svc, which read its database for it, says that these keys have changed; null: every key. */
  heard(keyHashes: readonly string[] | null): void {
    this.#isAnswered = true;
    if (keyHashes === null) this.#reading.clear();
    for (const keyHash of keyHashes ?? []) this.#reading.delete(keyHash);
  }

  /** Reads a policy and keeps it. @throws Fault UNAVAILABLE */
  read(keyHash: string, minGeneration: bigint, trace: TraceHeaders | undefined): Promise<KnownPolicy> {
    const ask = () => this.#ask(keyHash, trace);
    const running = this.#reading.get(keyHash);
    // A reading that is under way may have begun before the generation that is asked for now.
    if (running) return running.then((policy) => (policy.generation >= minGeneration ? policy : ask()));
    const reading = ask()
      // Read before a change that was heard of meanwhile, and perhaps acknowledged.
      .then((policy) => (this.#policies.isOutdated(keyHash, policy.generation) ? ask() : policy))
      .finally(() => {
        if (this.#reading.get(keyHash) === reading) this.#reading.delete(keyHash);
      });
    this.#reading.set(keyHash, reading);
    return reading;
  }

  async #ask(keyHash: string, trace: TraceHeaders | undefined): Promise<KnownPolicy> {
    const { client, token } = this.#options;
    const { resolveKey } = AccessService.method;
    const request = create(resolveKey.input, { keyHash, refusesUnknown: true });
    const { caller, generation } = await call(
      client,
      resolveKey,
      request,
      serviceMetadata(token, { trace }),
      resolveTimeoutMs,
    ).catch((cause: unknown) => {
      this.#isAnswered = false;
      throw unavailable(cause);
    });
    this.#isAnswered = true;
    this.#requireUnderstood(caller);
    if (caller) this.#guardrails.share(caller);
    const now = performance.now();
    const policy: KnownPolicy = { caller, generation, filledAt: now, askedAt: now };
    this.#policies.store(keyHash, policy);
    return policy;
  }

  /** A policy with fields that this build does not know cannot be enforced, so the key waits for a newer build. */
  #requireUnderstood(caller: Caller | undefined): void {
    const path = caller && strangeIn(CallerSchema, caller);
    if (path === undefined) return;
    this.#options.log.error({ reason: path }, "the policy of a key needs a newer build of this process");
    throw unavailable();
  }
}

const unavailable = (cause?: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.ADMIN, cause });

/** True when a reading failed because admin-svc or its database is away. Any other failure is about the policy itself, which no older one may replace. */
export function isOutage(error: unknown): boolean {
  const cause = error instanceof Fault ? error.cause : undefined;
  if (!(cause instanceof Fault)) return false;
  return cause.reason === FaultReason.UNAVAILABLE || cause.reason === FaultReason.DEADLINE_EXCEEDED;
}
