/** The question behind every request, and the stream that says when an old answer no longer holds. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccessService,
  type Caller,
  CallerSchema,
  KeyKind,
  ListInactiveEndUsersResponseSchema,
  ResolveKeyResponseSchema,
  type WatchPolicyRequest,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { beforeGreetings } from "@sluice/proto/runtime/rpc/before-greetings.js";
import { requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { unknownTo } from "@sluice/proto/runtime/rpc/knowledge.js";
import { type ResolvedKey, resolveKey } from "../store/access.ts";
import { inactiveEndUsers } from "../store/end-users.ts";
import { enforcedMessage } from "./guardrail-record.ts";
import { orUnavailable } from "./outage.ts";
import type { Parts } from "./parts.ts";
import { rateLimitsMessage } from "./rate-limits.ts";
import type { Watcher } from "./watcher.ts";

/** Up to 2 MiB of names; a message may have 4. */
const endUsersPage = 1_000;

export function accessService({ reads, policy, serviceToken }: Parts): ServiceImpl<typeof AccessService> {
  return {
    resolveKey: ({ keyHash, refusesUnknown }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orUnavailable(async () => {
        const { key, generation } = await resolveKey(reads, keyHash.includes("\0") ? "" : keyHash);
        const caller = key && callerOf(key);
        if (caller && !refusesUnknown) requireEnforceable(caller);
        return create(ResolveKeyResponseSchema, { generation, ...(caller && { caller }) });
      });
    },
    listInactiveEndUsers: ({ workspaceId, after }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orUnavailable(async () => {
        const page = { workspaceId, after, limit: endUsersPage };
        const { users, generation } = await inactiveEndUsers(reads, page);
        const next = users.length < endUsersPage ? "" : (users.at(-1) ?? "");
        return create(ListInactiveEndUsersResponseSchema, { users: [...users], generation, next });
      });
    },
    async *watchPolicy(requests, { requestHeader, signal }) {
      requireServiceToken(requestHeader, serviceToken);
      const watcher = policy.join();
      signal.addEventListener("abort", () => watcher.close());
      void listen(requests, watcher, signal);
      try {
        yield* watcher.messages();
      } finally {
        policy.leave(watcher);
      }
    },
  };
}

/** A watcher that can acknowledge nothing any more, because it left or broke off, is none. */
async function listen(
  requests: AsyncIterable<WatchPolicyRequest>,
  watcher: Watcher,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { process, appliedGeneration } of requests) watcher.acknowledge(process, appliedGeneration);
    // A reset ends the requests as well, and aborts a moment later.
    await nextTurn();
    watcher.parted = !signal.aborted;
  } catch {
    // A broken connection is an ordinary end here, and its own side reports it.
  } finally {
    watcher.close();
  }
}

/** A process of an earlier build would leave out in silence what it has never heard of. @throws Fault UNAVAILABLE */
function requireEnforceable(caller: Caller): void {
  const path = unknownTo(beforeGreetings, CallerSchema, caller);
  if (path === undefined) return;
  throw new Fault(FaultReason.UNAVAILABLE, `The policy of the key needs a newer build: ${path}`);
}

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

function callerOf({
  hash,
  workspaceId,
  kind,
  expiresAt,
  hasBudget,
  externalUserInactive,
  rateLimits,
  guardrail,
  workspaceGuardrails,
}: NonNullable<ResolvedKey["key"]>): Caller {
  return create(CallerSchema, {
    keyHash: hash,
    workspaceId,
    kind: kinds[kind],
    hasBudget,
    externalUserInactive,
    rateLimits: rateLimitsMessage(rateLimits),
    ...(expiresAt && { expiresAtMs: BigInt(expiresAt.getTime()) }),
    ...(guardrail && { guardrail: enforcedMessage(guardrail) }),
    workspaceGuardrails: workspaceGuardrails.map(enforcedMessage),
  });
}
