/** Converts records of turns between messages and rows. */
import { create } from "@bufbuild/protobuf";
import { toTurnOutcomeWord, turnOutcomes } from "@sluice/proto/contract/records/generations.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import { FilterAction } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { CallOperation, TurnOutcome, type TurnRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { type Generation, GenerationSchema } from "@sluice/proto/gen/sluice/admin/v1/usage_service_pb.js";
import { callOperations, toOperationWord } from "@sluice/proto/lib/ledger/call-operation.js";
import { readRecordedTags, tagsText } from "@sluice/proto/lib/turns/tags.js";
import type { Recorded } from "../../rules/record-reader.ts";
import type { TurnRow } from "./generations.ts";
import type { NewTurnRecord } from "./turn-record.ts";

/** Converts the record of a turn to a row; fields with their default value may be absent. */
export const toTurnRow = (record: Recorded<TurnRecord>): NewTurnRecord => ({
  generation_id: record.generationId ?? "",
  key_hash: record.keyHash ?? "",
  workspace_id: record.workspaceId ?? "",
  boot_id: record.bootId ?? "",
  sequence: String(record.sequence ?? 0),
  instance: record.instance ?? "",
  request_id: record.requestId ?? "",
  opened_at: new Date(Number(record.openedAtMs ?? 0)),
  duration_ms: record.durationMs ?? 0,
  first_ms: record.firstMs ?? null,
  door: record.door || "responses",
  operation: toOperationWord(record.operation ?? CallOperation.UNSPECIFIED) ?? "turn",
  requested_model: record.model || null,
  // An outcome unknown to this build, from a newer process, counts as failed.
  outcome: toTurnOutcomeWord(record.outcome ?? TurnOutcome.UNSPECIFIED) ?? "failed",
  http_status: record.httpStatus ?? 0,
  error_type: record.errorType || null,
  provider_error: record.providerError || null,
  provider_code: record.providerCode || null,
  guardrail_id: record.guardrailId || null,
  rule: record.rule || null,
  streamed: record.streamed ?? false,
  user: record.user ?? null,
  session_id: record.sessionId ?? null,
  trace_id: record.traceId || null,
  requests: Math.max(1, record.count ?? 0),
  tags: readRecordedTags(record.tags ?? ""),
  guardrail_action: filterActions.ofValue(record.guardrailAction ?? FilterAction.UNSPECIFIED)?.word ?? null,
});

export function toGeneration(row: TurnRow): Generation {
  const generation = create(GenerationSchema, {
    id: row.generation_id,
    requestId: row.request_id,
    openedAtMs: BigInt(row.opened_at.getTime()),
    workspaceId: row.workspace_id,
    keyHash: row.key_hash,
    keyName: row.key_name ?? "",
    model: row.model,
    requestedModel: row.requested_model ?? "",
    provider: row.provider,
    serviceTier: row.service_tier,
    door: row.door,
    operation: callOperations[row.operation],
    task: row.task ?? "",
    streamed: row.streamed,
    outcome: turnOutcomes[row.outcome],
    httpStatus: row.http_status,
    errorType: row.error_type ?? "",
    providerError: row.provider_error ?? "",
    providerCode: row.provider_code ?? "",
    guardrailId: row.guardrail_id ?? "",
    rule: row.rule ?? "",
    finishReason: row.finish_reason ?? "",
    user: row.user ?? "",
    sessionId: row.session_id ?? "",
    traceId: row.trace_id ?? "",
    tags: row.tags === null ? "" : tagsText(Object.entries(row.tags)),
    requests: row.requests,
    attempts: row.attempts,
    costUsd: row.cost_usd,
    inputTokens: BigInt(row.input_tokens),
    cachedTokens: BigInt(row.cached_tokens),
    outputTokens: BigInt(row.output_tokens),
    reasoningTokens: BigInt(row.reasoning_tokens),
    isEstimated: row.is_estimated,
    durationMs: BigInt(row.duration_ms),
  });
  if (row.first_ms !== null) generation.firstMs = BigInt(row.first_ms);
  return generation;
}
