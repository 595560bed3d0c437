/** Converts records of turns between messages and rows. */
import { TurnOutcome, type TurnRecord } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { operationWord } from "@sluice/proto/runtime/call-operation.js";
import type { NewTurnRecord } from "../store/ledger/turn-record.ts";

export const turnOutcomes = {
  completed: TurnOutcome.COMPLETED,
  incomplete: TurnOutcome.INCOMPLETE,
  failed: TurnOutcome.FAILED,
  cancelled: TurnOutcome.CANCELLED,
  lost: TurnOutcome.LOST,
  refused: TurnOutcome.REFUSED,
} as const;

const words: ReadonlyMap<TurnOutcome, keyof typeof turnOutcomes> = new Map(
  Object.entries(turnOutcomes).map(([word, outcome]) => [outcome, word as keyof typeof turnOutcomes]),
);

export const toTurnRow = (record: TurnRecord): NewTurnRecord => ({
  generation_id: record.generationId,
  key_hash: record.keyHash,
  workspace_id: record.workspaceId,
  boot_id: record.bootId,
  sequence: record.sequence.toString(),
  instance: record.instance,
  request_id: record.requestId,
  opened_at: new Date(Number(record.openedAtMs)),
  duration_ms: record.durationMs,
  first_ms: record.firstMs ?? null,
  door: record.door || "responses",
  operation: operationWord(record.operation) ?? "turn",
  requested_model: record.model || null,
  // An unknown outcome of a newer process counts as failed.
  outcome: words.get(record.outcome) ?? "failed",
  http_status: record.httpStatus,
  error_type: record.errorType || null,
  guardrail_id: record.guardrailId || null,
  rule: record.rule || null,
  streamed: record.streamed,
  user: record.user ?? null,
  session_id: record.sessionId ?? null,
  trace_id: record.traceId || null,
  requests: Math.max(1, record.count),
});
