/** Calls of admin-svc that read policies. */
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

/** Reads the policies of keys, by their hashes. */
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

/**
 * Adds guardrails to a key's policy. @throws Error when one is missing, because the key's rules cannot be enforced
 * without it
 */
function joinGuardrails(key: FurtherKey, byId: ReadonlyMap<string, Guardrail>): void {
  const find = (id: string): Guardrail => {
    const guardrail = byId.get(id);
    if (!guardrail) throw new Error(`no guardrail ${id} came with its key`);
    return guardrail;
  };
  if (!key.caller) return;
  if (key.guardrailId !== "") key.caller.guardrail = find(key.guardrailId);
  key.caller.workspaceGuardrails = key.workspaceGuardrailIds.map(find);
  // A field unknown to this build may be an additional rule, so it is kept for the check.
  if (key.$unknown) key.caller.$unknown = [...(key.caller.$unknown ?? []), ...key.$unknown];
}

/** Reads the inactive end users of a workspace, by the name from `endUsersName`. */
export function endUserReader(connection: PolicyConnection): FetchPolicy<ReadonlySet<string>> {
  return async (name, trace) => {
    const users = new Set<string>();
    const { listInactiveEndUsers } = AccessService.method;
    for (let after = "", generation: bigint | undefined; ; ) {
      const input = { workspaceId: workspaceOf(name), after };
      const page = await callPolicyService(connection, listInactiveEndUsers, input, trace);
      for (const user of page.users) users.add(user);
      // The generation of the first page counts: a change between two pages is announced later with a higher one.
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

/**
 * Refuses a policy with fields unknown to this build, which cannot be enforced; the key can be used with a newer build.
 */
function requireUnderstood(caller: Caller | undefined, log: Logger): void {
  const path = caller && unknownFieldIn(CallerSchema, caller);
  if (path === undefined) return;
  log.error({ reason: path }, "the policy of a key needs a newer build of this process");
  throw new Error(`the policy of a key needs a newer build: ${path}`);
}

/**
 * Keeps one copy of a guardrail for all keys that have it: a guardrail of the account may have a megabyte of patterns,
 * and a process caches up to a hundred thousand keys.
 */
class SharedGuardrails {
  readonly #known = new Map<string, WeakRef<Guardrail>>();
  readonly #forgotten = new FinalizationRegistry<string>((id) => {
    // The id may belong to a newer version of the guardrail by now, which stays.
    if (this.#known.get(id)?.deref() === undefined) this.#known.delete(id);
  });

  /** Replaces the guardrails of a policy by equal cached copies, which must not be modified. */
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
