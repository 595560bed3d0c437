/** Converts usage records between messages and rows. */
import { create } from "@bufbuild/protobuf";
import {
  AttemptStatus,
  TokenCountsSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { callKind, callOperations, callPayers, purposeOfRecord } from "@sluice/proto/lib/ledger/call-operation.js";
import { readRecordedTags } from "@sluice/proto/lib/turns/tags.js";
import type { Recorded } from "../../rules/record-reader.ts";
import type { UsageRow } from "./usage.ts";
import type { NewUsageRecord } from "./usage-batch.ts";

const statuses = {
  completed: AttemptStatus.COMPLETED,
  incomplete: AttemptStatus.INCOMPLETE,
  failed: AttemptStatus.FAILED,
  cancelled: AttemptStatus.CANCELLED,
  lost: AttemptStatus.LOST,
} as const;

const words: ReadonlyMap<AttemptStatus, keyof typeof statuses> = new Map(
  Object.entries(statuses).map(([word, status]) => [status, word as keyof typeof statuses]),
);

/** Converts the record of a call to a row; fields with their default value may be absent. */
export function toRow(record: Recorded<UsageRecord>): NewUsageRecord {
  const { tokens } = record;
  return {
    turn_id: record.turnId ?? "",
    attempt: record.attempt ?? 0,
    boot_id: record.bootId ?? "",
    sequence: String(record.sequence ?? 0),
    instance: record.instance ?? "",
    workspace_id: record.workspaceId ?? "",
    key_hash: record.keyHash ?? "",
    generation_id: record.generationId ?? "",
    request_id: record.requestId ?? "",
    opened_at: new Date(Number(record.openedAtMs ?? 0)),
    duration_ms: record.durationMs ?? 0,
    model: record.model ?? "",
    provider: record.provider ?? "",
    upstream_model: record.upstreamModel ?? "",
    service_tier: record.serviceTier ?? "",
    // A status unknown to this build, from a newer process, counts as lost.
    status: words.get(record.status ?? AttemptStatus.UNSPECIFIED) ?? "lost",
    http_status: record.httpStatus ?? 0,
    input_tokens: tokens ? (tokens.input ?? 0) : null,
    cached_tokens: tokens ? (tokens.cached ?? 0) : null,
    cache_write_tokens: tokens ? (tokens.cacheWrite ?? 0) : null,
    output_tokens: tokens ? (tokens.output ?? 0) : null,
    reasoning_tokens: tokens ? (tokens.reasoning ?? 0) : null,
    is_estimated: record.isEstimated ?? false,
    cost_usd: record.costUsd ?? null,
    streamed: record.streamed ?? false,
    user: record.user ?? null,
    session_id: record.sessionId ?? null,
    tags: readRecordedTags(record.tags ?? ""),
    door: record.door ?? "responses",
    task: record.task ?? null,
    ...purposeOfRecord(record),
    first_ms: record.firstMs ?? null,
    finish_reason: record.finishReason ?? null,
  };
}

export function toRecord(row: UsageRow): UsageRecord {
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
    operation: callOperations[row.operation],
    payer: callPayers[row.payer],
    kind: callKind(row),
    ...(row.input_tokens !== null && { tokens: tokensOf(row) }),
    ...(row.cost_usd !== null && { costUsd: row.cost_usd }),
    ...(row.user !== null && { user: row.user }),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    ...(row.door !== "responses" && { door: row.door }),
    ...(row.task !== null && { task: row.task }),
    ...(row.first_ms !== null && { firstMs: Number(row.first_ms) }),
    ...(row.finish_reason !== null && { finishReason: row.finish_reason }),
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
