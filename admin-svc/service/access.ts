/** Resolves keys for inference processes and gateways, and streams which cached policies are no longer valid. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type MessageInitShape, create, toBinary } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { modelLimitsMessage } from "@sluice/proto/contract/records/model-limits.js";
import { permissionsMessage } from "@sluice/proto/contract/records/permissions.js";
import {
  type AccessService,
  type Caller,
  CallerSchema,
  type FurtherKey,
  FurtherKeySchema,
  type Guardrail,
  GuardrailSchema,
  KeyKind,
  ListInactiveEndUsersResponseSchema,
  type RateLimits,
  RateLimitsSchema,
  type ResolveKeyResponse,
  ResolveKeyResponseSchema,
  type WatchPolicyRequest,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { maxFurtherKeys } from "@sluice/proto/lib/policy/key-batches.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import { legacyPeers, unsupportedFieldIn } from "@sluice/proto/lib/rpc/supported-fields.js";
import { parseTagNames, tagsText } from "@sluice/proto/lib/turns/tags.js";
import { type ResolvedKey, resolveKeys } from "../store/access.ts";
import { inactiveEndUsers } from "../store/end-users.ts";
import type { EnforcedGuardrail } from "../store/guardrail-columns.ts";
import { enforcedMessage } from "./guardrail-record.ts";
import { withUnavailableOutage } from "./outage.ts";
import type { EndpointFeed } from "./endpoint-feed.ts";
import type { Deps } from "./deps.ts";
import type { Watcher } from "./watcher.ts";

/** End users per page: their names have at most 2 MiB, and a message may have 4 MiB. */
const endUsersPage = 1_000;
/**
 * Maximum bytes of guardrails in an answer about several keys. A message may have 4 MiB, half of which is reserved for
 * the first key.
 */
const maxGuardrailBytes = 2 * 1024 * 1024;
/** Replaces a hash containing NUL, which Postgres cannot store, by the empty text: no key has that hash. */
const storable = (keyHash: string): string => (keyHash.includes("\0") ? "" : keyHash);

export function accessService({
  resolution,
  policy,
  endpoints,
  serviceToken,
}: Deps): ServiceImpl<typeof AccessService> {
  return {
    resolveKey: ({ keyHash, refusesUnknown, furtherKeyHashes }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return withUnavailableOutage(async () => {
        const further = refusesUnknown ? furtherKeyHashes.slice(0, maxFurtherKeys) : [];
        const { keys, generation } = await resolveKeys(resolution, [keyHash, ...further].map(storable));
        const key = keys.get(keyHash);
        const caller = key && toCaller(key);
        if (caller && !refusesUnknown) requireEnforceable(caller);
        return create(ResolveKeyResponseSchema, {
          generation,
          ...(caller && { caller }),
          ...(further.length > 0 && answerFurther(further.map((hash) => keys.get(hash)))),
        });
      });
    },
    listInactiveEndUsers: ({ workspaceId, after }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return withUnavailableOutage(async () => {
        const page = { workspaceId, after, limit: endUsersPage };
        const { users, generation } = await inactiveEndUsers(resolution, page);
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

/** Reads a process's acknowledgements and endpoint news until it disconnects, then closes its watcher. */
async function listen(
  requests: AsyncIterable<WatchPolicyRequest>,
  watcher: Watcher,
  endpoints: EndpointFeed,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { process, appliedGeneration, hearsEndpoints, endpoints: news } of requests) {
      watcher.receivesEndpointNews ||= hearsEndpoints;
      if (news.length > 0) endpoints.pass(watcher, news);
      else watcher.acknowledge(process, appliedGeneration);
    }
    // A connection reset ends the request stream first and aborts the signal only a moment later.
    await nextTurn();
    watcher.closedCleanly = !signal.aborted;
  } catch {
    // A broken connection is no error here: the process on the other side reports it.
  } finally {
    watcher.close();
  }
}

/**
 * Refuses a process of an earlier build for a policy with features that it would silently ignore. @throws Fault
 * UNAVAILABLE
 */
function requireEnforceable(caller: Caller): void {
  const path = unsupportedFieldIn(legacyPeers, CallerSchema, caller);
  if (path === undefined) return;
  throw new Fault(FaultReason.UNAVAILABLE, `The policy of the key needs a newer build: ${path}`);
}

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

const toCaller = (key: ResolvedKey): Caller =>
  callerUnder(key, {
    ...(key.guardrail && { guardrail: enforcedMessage(key.guardrail) }),
    workspaceGuardrails: key.workspaceGuardrails.map(enforcedMessage),
  });

const callerUnder = (key: ResolvedKey, guardrails: MessageInitShape<typeof CallerSchema>): Caller =>
  create(CallerSchema, {
    keyHash: key.hash,
    workspaceId: key.workspaceId,
    kind: kinds[key.kind],
    account: key.account,
    hasBudget: key.hasBudget,
    externalUserInactive: key.externalUserInactive,
    capturesContent: key.capturesContent,
    tracesContent: key.tracesContent,
    furtherGuardrailIds: furtherIds(key),
    tags: key.tags ?? "",
    requiredTags: [...parseTagNames(key.requiredTags ?? "", "required_tags")],
    allowedNetworks: [...(key.allowedNetworks ?? [])],
    rateLimits: toRateLimits(key.rateLimits),
    permissions: key.permissions.map(permissionsMessage),
    ...(key.modelLimits && { modelLimits: modelLimitsMessage(key.modelLimits) }),
    ...(key.workspaceModelLimits && { workspaceModelLimits: modelLimitsMessage(key.workspaceModelLimits) }),
    budgetTags: budgetTagsOf(key),
    ...(key.expiresAt && { expiresAtMs: BigInt(key.expiresAt.getTime()) }),
    ...guardrails,
  });

/** Tags that have a budget, each once, because their budgets are read for each call. */
const budgetTagsOf = ({ tagBudgets }: ResolvedKey): string[] => [
  ...new Set((tagBudgets ?? []).map(({ tag, value }) => tagsText([[tag, value]]))),
];

/** Ids of a key's additional guardrails, without default guardrails, which apply anyway. */
const furtherIds = ({ furtherGuardrails, workspaceGuardrails }: ResolvedKey): string[] =>
  workspaceGuardrails
    .filter((row) => furtherGuardrails.includes(row.id) && !row.workspace_default && !row.account_default)
    .map(({ id }) => id);

/** Converts limits: null in the database row becomes an absent field of the message. */
const toRateLimits = (row: ResolvedKey["rateLimits"]): RateLimits =>
  create(RateLimitsSchema, {
    ...(row.requests_per_minute !== null && { requestsPerMinute: row.requests_per_minute }),
    ...(row.tokens_per_minute !== null && { tokensPerMinute: row.tokens_per_minute }),
    ...(row.concurrent_requests !== null && { concurrentRequests: row.concurrent_requests }),
  });

/**
 * Puts further keys into an answer; when their guardrails exceed the limit in bytes, the last keys are omitted. @param
 * keys undefined for unusable keys
 */
function answerFurther(keys: readonly (ResolvedKey | undefined)[]): Pick<ResolveKeyResponse, "further" | "guardrails"> {
  const guardrails = new Map<EnforcedGuardrail, Guardrail>();
  const further: FurtherKey[] = [];
  let bytes = 0;
  for (const key of keys) {
    const others = key ? guardrailsOf(key).filter((guardrail) => !guardrails.has(guardrail)) : [];
    const messages = others.map((guardrail) => [guardrail, enforcedMessage(guardrail)] as const);
    for (const [, message] of messages) bytes += toBinary(GuardrailSchema, message).length;
    if (bytes > maxGuardrailBytes) break;
    for (const [guardrail, message] of messages) guardrails.set(guardrail, message);
    further.push(toFurther(key));
  }
  return { further, guardrails: [...guardrails.values()] };
}

const guardrailsOf = ({ guardrail, workspaceGuardrails }: ResolvedKey): readonly EnforcedGuardrail[] =>
  guardrail ? [guardrail, ...workspaceGuardrails] : workspaceGuardrails;

const toFurther = (key: ResolvedKey | undefined): FurtherKey =>
  create(FurtherKeySchema, {
    ...(key && { caller: callerUnder(key, {}) }),
    guardrailId: key?.guardrail?.id ?? "",
    workspaceGuardrailIds: key?.workspaceGuardrails.map(({ id }) => id) ?? [],
  });
