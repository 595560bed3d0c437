/** Calls to admin-svc for reading policies. */
import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  create,
  equals,
} from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  AccessService,
  type Caller,
  CallerSchema,
  type FurtherKey,
  type Guardrail,
  GuardrailSchema,
} from "../../gen/sluice/admin/v1/access_service_pb.ts";
import type { Logger } from "../log/log.ts";
import { workspaceOf } from "./end-users-name.ts";
import { type ReadKeys, KeyBatches } from "./key-batches.ts";
import type { FetchPolicy } from "./reader.ts";
import { call, serviceMetadata } from "../rpc/dial.ts";
import { unknownFieldIn } from "../rpc/supported-fields.ts";
import type { ServiceToken } from "../rpc/service-token.ts";
import type { TraceHeaders } from "../tracing/context.ts";

const timeoutMs = 2_000;

export interface PolicyConnection {
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
}

/** Policies of keys, by key hash. */
export function callerReader(connection: PolicyConnection): FetchPolicy<Caller> {
  const guardrails = new SharedGuardrails();
  const batches = new KeyBatches(callersReader(connection));
  return async (keyHash, trace) => {
    const { value: caller, generation } = await batches.request(keyHash, trace);
    requireUnderstood(caller, connection.log);
    if (caller) guardrails.share(caller);
    return { value: caller, generation };
  };
}

const callersReader =
  (connection: PolicyConnection): ReadKeys<Caller> =>
  async ([keyHash, ...furtherKeyHashes], trace) => {
    const input = { keyHash, refusesUnknown: true, furtherKeyHashes };
    const answer = await callPolicyService(connection, AccessService.method.resolveKey, input, trace);
    const { caller, generation, further, guardrails } = answer;
    const byId = new Map(guardrails.map((guardrail) => [guardrail.id, guardrail]));
    for (const key of further) joinGuardrails(key, byId);
    return [caller, ...further.map((key) => key.caller)].map((value) => ({ value, generation }));
  };

/** @throws when a guardrail is missing, because the key's rules cannot be enforced without it */
function joinGuardrails(key: FurtherKey, byId: ReadonlyMap<string, Guardrail>): void {
  const find = (id: string): Guardrail => {
    const guardrail = byId.get(id);
    if (!guardrail) throw new Error(`no guardrail ${id} came with its key`);
    return guardrail;
  };
  if (!key.caller) return;
  if (key.guardrailId !== "") key.caller.guardrail = find(key.guardrailId);
  key.caller.workspaceGuardrails = key.workspaceGuardrailIds.map(find);
  // An unknown field may be an additional rule.
  if (key.$unknown) key.caller.$unknown = [...(key.caller.$unknown ?? []), ...key.$unknown];
}

/** Inactive end users of a workspace, named as by `endUsersName`. */
export function endUserReader(connection: PolicyConnection): FetchPolicy<ReadonlySet<string>> {
  return async (name, trace) => {
    const users = new Set<string>();
    const { listInactiveEndUsers } = AccessService.method;
    for (let after = "", generation: bigint | undefined; ; ) {
      const input = { workspaceId: workspaceOf(name), after };
      const page = await callPolicyService(connection, listInactiveEndUsers, input, trace);
      for (const user of page.users) users.add(user);
      // A change between two pages is announced after the generation of the first.
      generation ??= page.generation;
      if (page.next === "") return { value: users, generation };
      after = page.next;
    }
  };
}

const callPolicyService = <Input extends DescMessage, Output extends DescMessage>(
  { client, token }: PolicyConnection,
  method: DescMethodUnary<Input, Output>,
  input: MessageInitShape<Input>,
  trace: TraceHeaders | undefined,
): Promise<MessageShape<Output>> =>
  call(client, method, create(method.input, input), serviceMetadata(token, { trace }), timeoutMs);

/** A policy with fields unknown to this build cannot be enforced, so the key waits for a newer build. */
function requireUnderstood(caller: Caller | undefined, log: Logger): void {
  const path = caller && unknownFieldIn(CallerSchema, caller);
  if (path === undefined) return;
  log.error({ reason: path }, "the policy of a key needs a newer build of this process");
  throw new Error(`the policy of a key needs a newer build: ${path}`);
}

/**
 * Keeps one copy of a guardrail for all its keys: a guardrail of the account may have a megabyte of patterns, and a process caches up to a hundred thousand
 * keys.
 */
class SharedGuardrails {
  readonly #known = new Map<string, WeakRef<Guardrail>>();
  readonly #forgotten = new FinalizationRegistry<string>((id) => {
    // A newer version of the guardrail may have replaced it.
    if (this.#known.get(id)?.deref() === undefined) this.#known.delete(id);
  });

  /** Replaces the caller's guardrails by equal cached copies. They must not be modified. */
  share(caller: Caller): void {
    if (caller.guardrail) caller.guardrail = this.#shared(caller.guardrail);
    caller.workspaceGuardrails = caller.workspaceGuardrails.map((guardrail) => this.#shared(guardrail));
  }

  #shared(guardrail: Guardrail): Guardrail {
    const known = this.#known.get(guardrail.id)?.deref();
    if (known && equals(GuardrailSchema, known, guardrail)) return known;
    this.#known.set(guardrail.id, new WeakRef(guardrail));
    this.#forgotten.register(guardrail, guardrail.id);
    return guardrail;
  }
}
