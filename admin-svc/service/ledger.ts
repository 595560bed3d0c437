/** Takes in what the processes that call providers have written down. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AttemptStatus,
  type LedgerService,
  RecordUsageResponseSchema,
  ReserveBudgetResponseSchema,
  type UsageRecord,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { checkReservation, readUsageRecords } from "../rules/usage-records.ts";
import { type NewUsageRecord, insertUsage } from "../store/usage.ts";
import { orUnavailable } from "./outage.ts";
import type { Parts } from "./parts.ts";
import { Reservations } from "./reservations.ts";

export function ledgerService({ writes, serviceToken }: Parts): ServiceImpl<typeof LedgerService> {
  const reservations = new Reservations(writes);
  return {
    recordUsage: ({ recordsJson }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      const records = readUsageRecords(recordsJson);
      return orUnavailable(async () => {
        const storedCount = await insertUsage(writes, records.map(rowOf));
        return create(RecordUsageResponseSchema, { storedCount });
      });
    },
    reserveBudget: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkReservation(request);
      return orUnavailable(async () =>
        create(ReserveBudgetResponseSchema, await reservations.reserve(request.keyHash, request)),
      );
    },
  };
}

const statuses = {
  [AttemptStatus.COMPLETED]: "completed",
  [AttemptStatus.INCOMPLETE]: "incomplete",
  [AttemptStatus.FAILED]: "failed",
  [AttemptStatus.CANCELLED]: "cancelled",
  // What a newer process calls otherwise is not known here either.
  [AttemptStatus.UNSPECIFIED]: "lost",
  [AttemptStatus.LOST]: "lost",
} as const;

function rowOf(record: UsageRecord): NewUsageRecord {
  const { tokens } = record;
  return {
    turn_id: record.turnId,
    attempt: record.attempt,
    boot_id: record.bootId,
    sequence: record.sequence.toString(),
    instance: record.instance,
    workspace_id: record.workspaceId,
    key_hash: record.keyHash,
    generation_id: record.generationId,
    request_id: record.requestId,
    opened_at: new Date(Number(record.openedAtMs)),
    duration_ms: record.durationMs,
    model: record.model,
    provider: record.provider,
    upstream_model: record.upstreamModel,
    service_tier: record.serviceTier,
    status: statuses[record.status],
    http_status: record.httpStatus,
    input_tokens: tokens?.input ?? null,
    cached_tokens: tokens?.cached ?? null,
    cache_write_tokens: tokens?.cacheWrite ?? null,
    output_tokens: tokens?.output ?? null,
    reasoning_tokens: tokens?.reasoning ?? null,
    is_estimated: record.isEstimated,
    cost_usd: record.costUsd ?? null,
    streamed: record.streamed,
    user: record.user ?? null,
    session_id: record.sessionId ?? null,
  };
}
