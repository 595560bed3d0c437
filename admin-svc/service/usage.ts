/** What is on record of the calls to providers: of one turn, and in sums. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AttemptStatus,
  TokenCountsSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import {
  type Activity,
  ActivitySchema,
  GetGenerationResponseSchema,
  ListActivityResponseSchema,
  type UsageService,
} from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { checkActivityFilter } from "../rules/usage-records.ts";
import { type ActivityRow, type UsageRow, activityOf, generationRecords } from "../store/usage.ts";
import { administering, requireKey, requireOwn } from "./caller.ts";
import { orRetryLater } from "./outage.ts";
import type { Parts } from "./parts.ts";

export function usageService(parts: Parts): ServiceImpl<typeof UsageService> {
  const { reads, serviceToken } = parts;
  const administer = administering(parts);
  return {
    getGeneration: ({ generationId }, { requestHeader }) =>
      orRetryLater(async () => {
        const { kind, hash: keyHash, workspace_id: workspaceId } = await requireKey(reads, requestHeader, serviceToken);
        const whose = { workspaceId, ...(kind === "inference" && { keyHash }) };
        const rows = isStorable(generationId) ? await generationRecords(reads, generationId, whose) : [];
        if (rows.length === 0) throw new Fault(FaultReason.NOT_FOUND, "Generation not found");
        return create(GetGenerationResponseSchema, { records: rows.map(recordOf) });
      }),
    listActivity: ({ date, keyHash, workspaceId }, context) =>
      administer(context, async (administrator) => {
        requireOwn(workspaceId, administrator);
        const filter = { ...(date !== "" && { date }), ...(keyHash !== "" && { keyHash }) };
        checkActivityFilter(filter);
        const rows = await activityOf(reads, { workspaceId: administrator.workspaceId, ...filter });
        return create(ListActivityResponseSchema, { activities: rows.map(activityMessage) });
      }),
  };
}

const isStorable = (text: string): boolean => text.length <= 1_024 && !text.includes("\0");

const statuses = {
  completed: AttemptStatus.COMPLETED,
  incomplete: AttemptStatus.INCOMPLETE,
  failed: AttemptStatus.FAILED,
  cancelled: AttemptStatus.CANCELLED,
  lost: AttemptStatus.LOST,
} as const;

function recordOf(row: UsageRow): UsageRecord {
  return create(UsageRecordSchema, {
    turnId: row.turn_id,
    attempt: row.attempt,
    bootId: row.boot_id,
    sequence: BigInt(row.sequence),
    instance: row.instance,
    workspaceId: row.workspace_id,
    keyHash: row.key_hash,
    generationId: row.generation_id,
    requestId: row.request_id,
    openedAtMs: BigInt(row.opened_at.getTime()),
    durationMs: Number(row.duration_ms),
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    serviceTier: row.service_tier,
    status: statuses[row.status],
    httpStatus: row.http_status,
    isEstimated: row.is_estimated,
    streamed: row.streamed,
    ...(row.input_tokens !== null && { tokens: tokensOf(row) }),
    ...(row.cost_usd !== null && { costUsd: row.cost_usd }),
    ...(row.user !== null && { user: row.user }),
    ...(row.session_id !== null && { sessionId: row.session_id }),
  });
}

const tokensOf = (row: UsageRow) =>
  create(TokenCountsSchema, {
    input: Number(row.input_tokens),
    cached: Number(row.cached_tokens),
    cacheWrite: Number(row.cache_write_tokens),
    output: Number(row.output_tokens),
    reasoning: Number(row.reasoning_tokens),
  });

const activityMessage = (row: ActivityRow): Activity =>
  create(ActivitySchema, {
    date: row.date,
    model: row.model,
    provider: row.provider,
    costUsd: row.cost_usd,
    calls: BigInt(row.calls),
    inputTokens: BigInt(row.input_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
  });
