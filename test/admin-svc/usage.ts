/** Usage records as sent by processes that call providers. */
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import {
  AttemptStatus,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";

/** A new usage record, with these fields replaced. */
export const usageRecord = (fields: Partial<Omit<UsageRecord, "$typeName">> = {}): UsageRecord =>
  create(UsageRecordSchema, {
    turnId: randomUUID(),
    attempt: 1,
    bootId: randomUUID(),
    sequence: 1n,
    instance: "test-1",
    workspaceId: defaultWorkspaceId,
    keyHash: "a".repeat(64),
    generationId: `gen-${randomUUID()}`,
    requestId: "req_1",
    openedAtMs: 1_790_000_000_123n,
    durationMs: 1_500,
    model: "acme/large-2",
    provider: "acme",
    upstreamModel: "large-2",
    serviceTier: "default",
    status: AttemptStatus.COMPLETED,
    httpStatus: 200,
    tokens: { input: 12, cached: 4, cacheWrite: 0, output: 30, reasoning: 10 },
    costUsd: "0.000123456789",
    streamed: true,
    user: "u-1",
    sessionId: "s-1",
    firstMs: 400,
    finishReason: "stop",
    ...fields,
  });
