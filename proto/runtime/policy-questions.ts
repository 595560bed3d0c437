/** The questions about policies that admin-svc answers. */
import { type DescMethodUnary, type MessageInitShape, type MessageShape, create } from "@bufbuild/protobuf";
import type { DescMessage } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { AccessService, type Caller, CallerSchema } from "../gen/sluice/admin/v1/access_service_pb.ts";
import type { Logger } from "./log.ts";
import type { AskPolicy } from "./policy-reader.ts";
import { call, serviceMetadata } from "./rpc/dial.ts";
import { strangeIn } from "./rpc/knowledge.ts";
import type { ServiceToken } from "./rpc/service-token.ts";
import { SharedGuardrails } from "./shared-guardrails.ts";
import type { TraceHeaders } from "./tracing/context.ts";

const timeoutMs = 2_000;
const endUsersPrefix = "end-users/";

export interface Asking {
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
}

/** The name under which changes of a workspace's end users are announced, among the hashes of keys. */
export const endUsersOf = (workspaceId: string): string => `${endUsersPrefix}${workspaceId}`;

/** Policies of keys, by their hash. */
export function askCaller(asking: Asking): AskPolicy<Caller> {
  const guardrails = new SharedGuardrails();
  return async (keyHash, trace) => {
    const input = { keyHash, refusesUnknown: true };
    const { caller, generation } = await ask(asking, AccessService.method.resolveKey, input, trace);
    requireUnderstood(caller, asking.log);
    if (caller) guardrails.share(caller);
    return { value: caller, generation };
  };
}

/** Inactive end users, by the name that `endUsersOf` gives a workspace. */
export function askEndUsers(asking: Asking): AskPolicy<ReadonlySet<string>> {
  return async (name, trace) => {
    const users = new Set<string>();
    const { listInactiveEndUsers } = AccessService.method;
    for (let after = "", generation: bigint | undefined; ; ) {
      const input = { workspaceId: name.slice(endUsersPrefix.length), after };
      const page = await ask(asking, listInactiveEndUsers, input, trace);
      for (const user of page.users) users.add(user);
      // What changed between two pages is announced after the first.
      generation ??= page.generation;
      if (page.next === "") return { value: users, generation };
      after = page.next;
    }
  };
}

const ask = <Input extends DescMessage, Output extends DescMessage>(
  { client, token }: Asking,
  method: DescMethodUnary<Input, Output>,
  input: MessageInitShape<Input>,
  trace: TraceHeaders | undefined,
): Promise<MessageShape<Output>> =>
  call(client, method, create(method.input, input), serviceMetadata(token, { trace }), timeoutMs);

/** A policy with fields that this build does not know cannot be enforced, so the key waits for a newer build. */
function requireUnderstood(caller: Caller | undefined, log: Logger): void {
  const path = caller && strangeIn(CallerSchema, caller);
  if (path === undefined) return;
  log.error({ reason: path }, "the policy of a key needs a newer build of this process");
  throw new Error(`the policy of a key needs a newer build: ${path}`);
}
