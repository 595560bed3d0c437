/** Resolves keys for the processes that serve requests, and streams which cached policies are no longer valid. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccessService,
  type Caller,
  CallerSchema,
  KeyKind,
  ListInactiveEndUsersResponseSchema,
  type RateLimits,
  RateLimitsSchema,
  ResolveKeyResponseSchema,
  type WatchPolicyRequest,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { legacyPeers, unsupportedFieldIn } from "@sluice/proto/runtime/rpc/supported-fields.js";
import { type ResolvedKey, resolveKey } from "../store/access.ts";
import { inactiveEndUsers } from "../store/end-users.ts";
import { enforcedMessage } from "./guardrail-record.ts";
import { orUnavailable } from "./outage.ts";
import type { EndpointFeed } from "./endpoint-feed.ts";
import type { Deps } from "./deps.ts";
import type { Watcher } from "./watcher.ts";

/** Page of at most 2 MiB of names; a message may have 4 MiB. */
const endUsersPage = 1_000;

export function accessService({ reads, policy, endpoints, serviceToken }: Deps): ServiceImpl<typeof AccessService> {
  return {
    resolveKey: ({ keyHash, refusesUnknown }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orUnavailable(async () => {
        const { key, generation } = await resolveKey(reads, keyHash.includes("\0") ? "" : keyHash);
        const caller = key && toCaller(key);
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
      endpoints.join(watcher);
      signal.addEventListener("abort", () => watcher.close());
      void listen(requests, watcher, endpoints, signal);
      try {
        yield* watcher.messages();
      } finally {
        policy.leave(watcher);
        endpoints.leave(watcher);
      }
    },
  };
}

/** Reads acknowledgements and news until the watcher leaves or its connection breaks, then closes the watcher. */
async function listen(
  requests: AsyncIterable<WatchPolicyRequest>,
  watcher: Watcher,
  endpoints: EndpointFeed,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { process, appliedGeneration, hearsEndpoints, endpoints: news } of requests) {
      watcher.hearsEndpoints ||= hearsEndpoints;
      if (news.length > 0) endpoints.pass(watcher, news);
      else watcher.acknowledge(process, appliedGeneration);
    }
    // A reset also ends the requests, and aborts the signal a moment later.
    await nextTurn();
    watcher.closedCleanly = !signal.aborted;
  } catch {
    // A broken connection is an ordinary end here, and the other side reports it.
  } finally {
    watcher.close();
  }
}

/** A process of an earlier build would drop in silence the fields that it does not support. @throws Fault UNAVAILABLE */
function requireEnforceable(caller: Caller): void {
  const path = unsupportedFieldIn(legacyPeers, CallerSchema, caller);
  if (path === undefined) return;
  throw new Fault(FaultReason.UNAVAILABLE, `The policy of the key needs a newer build: ${path}`);
}

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

function toCaller({
  hash,
  workspaceId,
  kind,
  expiresAt,
  account,
  hasBudget,
  externalUserInactive,
  capturesContent,
  rateLimits,
  guardrail,
  workspaceGuardrails,
}: NonNullable<ResolvedKey["key"]>): Caller {
  return create(CallerSchema, {
    keyHash: hash,
    workspaceId,
    kind: kinds[kind],
    account,
    hasBudget,
    externalUserInactive,
    capturesContent,
    rateLimits: toRateLimits(rateLimits),
    ...(expiresAt && { expiresAtMs: BigInt(expiresAt.getTime()) }),
    ...(guardrail && { guardrail: enforcedMessage(guardrail) }),
    workspaceGuardrails: workspaceGuardrails.map(enforcedMessage),
  });
}

/** A missing limit is absent in the message, and null in the row. */
const toRateLimits = (row: NonNullable<ResolvedKey["key"]>["rateLimits"]): RateLimits =>
  create(RateLimitsSchema, {
    ...(row.requests_per_minute !== null && { requestsPerMinute: row.requests_per_minute }),
    ...(row.tokens_per_minute !== null && { tokensPerMinute: row.tokens_per_minute }),
    ...(row.concurrent_requests !== null && { concurrentRequests: row.concurrent_requests }),
  });
