/** Records of calls and turns, as processes that call providers deliver them. */
import { randomUUID } from "node:crypto";
import { create, toJsonString } from "@bufbuild/protobuf";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import {
  CallOperation,
  LedgerService,
  RecordUsageRequestSchema,
  TurnOutcome,
  type TurnRecord,
  TurnRecordSchema,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { type AdminInstallation, retryUntilWritten, serviceToken, timeoutMs } from "../installation.ts";
import { usageRecord } from "../usage.ts";

export interface Delivery {
  readonly calls: readonly UsageRecord[];
  readonly turns: readonly TurnRecord[];
}

export const deliver = ({ client }: AdminInstallation, { calls, turns }: Delivery): Promise<unknown> => {
  const request = create(RecordUsageRequestSchema, {
    recordsJson: calls.map((each) => Buffer.from(toJsonString(UsageRecordSchema, each))),
    turnsJson: turns.map((each) => Buffer.from(toJsonString(TurnRecordSchema, each))),
  });
  const { recordUsage } = LedgerService.method;
  return retryUntilWritten(() => call(client, recordUsage, request, serviceMetadata(serviceToken), timeoutMs));
};

const dayMs = 86_400_000;

/** Yesterday at 22:00 UTC: turns from some hours later are on the next day, and the ledger accepts turns of both days. */
export const startMs = Math.floor(Date.now() / dayMs) * dayMs - 2 * 3_600_000;
/** A time at 22:00 UTC on a day so long ago that the ledger no longer accepts its turns. */
export const earlierStartMs = Date.parse("2026-03-01T22:00:00Z");

export const turnRecord = (fields: Partial<Omit<TurnRecord, "$typeName">>): TurnRecord =>
  create(TurnRecordSchema, {
    generationId: `gen-${randomUUID()}`,
    requestId: "req_1",
    bootId: randomUUID(),
    sequence: 1n,
    instance: "test-1",
    workspaceId: defaultWorkspaceId,
    keyHash: "a".repeat(64),
    openedAtMs: BigInt(startMs),
    durationMs: 1_000,
    firstMs: 300,
    door: "responses",
    operation: CallOperation.TURN,
    model: "acme/asked",
    outcome: TurnOutcome.COMPLETED,
    httpStatus: 200,
    streamed: true,
    user: "u-1",
    sessionId: "s-1",
    ...fields,
  });

/** A process with record numbers of its own, delivered in order. */
export class Process {
  readonly #bootId = randomUUID();
  #calls = 0n;
  #turns = 0n;

  call(fields: Partial<Omit<UsageRecord, "$typeName">>): UsageRecord {
    return usageRecord({ bootId: this.#bootId, sequence: ++this.#calls, openedAtMs: BigInt(startMs), ...fields });
  }

  turn(fields: Partial<Omit<TurnRecord, "$typeName">>): TurnRecord {
    return turnRecord({ bootId: this.#bootId, sequence: ++this.#turns, ...fields });
  }
}
