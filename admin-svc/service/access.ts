/** The question behind every request, and the stream that says when an old answer no longer holds. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type AccessService,
  type Caller,
  CallerSchema,
  type Guardrail,
  GuardrailSchema,
  KeyKind,
  ResolveKeyResponseSchema,
  type WatchPolicyRequest,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { type EnforcedGuardrail, type ResolvedKey, resolveKey } from "../store/access.ts";
import { rulesOf } from "./guardrail-record.ts";
import { orUnavailable } from "./outage.ts";
import type { Parts } from "./parts.ts";
import { rateLimitsMessage } from "./rate-limits.ts";
import type { Watcher } from "./watcher.ts";

export function accessService({ reads, policy, serviceToken }: Parts): ServiceImpl<typeof AccessService> {
  return {
    resolveKey: ({ keyHash }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return orUnavailable(async () => {
        const { key, generation } = await resolveKey(reads, keyHash.includes("\0") ? "" : keyHash);
        return create(ResolveKeyResponseSchema, { generation, ...(key && { caller: callerOf(key) }) });
      });
    },
    async *watchPolicy(requests, { requestHeader, signal }) {
      requireServiceToken(requestHeader, serviceToken);
      const watcher = policy.join();
      signal.addEventListener("abort", () => watcher.close());
      void listen(requests, watcher);
      try {
        yield* watcher.messages();
      } finally {
        policy.leave(watcher);
      }
    },
  };
}

/** A watcher that can acknowledge nothing any more, because it left or broke off, is none. */
async function listen(requests: AsyncIterable<WatchPolicyRequest>, watcher: Watcher): Promise<void> {
  try {
    for await (const { process, appliedGeneration } of requests) watcher.acknowledge(process, appliedGeneration);
  } catch {
    // A broken connection is an ordinary end here, and its own side reports it.
  } finally {
    watcher.close();
  }
}

const kinds = { inference: KeyKind.INFERENCE, management: KeyKind.MANAGEMENT } as const;

function callerOf({
  hash,
  workspaceId,
  kind,
  expiresAt,
  hasBudget,
  rateLimits,
  guardrail,
  workspaceGuardrails,
}: NonNullable<ResolvedKey["key"]>): Caller {
  return create(CallerSchema, {
    keyHash: hash,
    workspaceId,
    kind: kinds[kind],
    hasBudget,
    rateLimits: rateLimitsMessage(rateLimits),
    ...(expiresAt && { expiresAtMs: BigInt(expiresAt.getTime()) }),
    ...(guardrail && { guardrail: guardrailOf(guardrail) }),
    workspaceGuardrails: workspaceGuardrails.map(guardrailOf),
  });
}

const guardrailOf = (guardrail: EnforcedGuardrail): Guardrail =>
  create(GuardrailSchema, { id: guardrail.id, name: guardrail.name, ...rulesOf(guardrail) });
