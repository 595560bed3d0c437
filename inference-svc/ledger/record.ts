/** What is written down of a call to a provider: when it is begun, and when it is over. */
import { create } from "@bufbuild/protobuf";
import {
  AttemptStatus,
  type UsageRecord,
  UsageRecordSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";

/** Known when the call is begun. */
export interface Opened {
  /** UUID version 7. */
  readonly turnId: string;
  /** From 1. */
  readonly attempt: number;
  readonly workspaceId: string;
  readonly keyHash: string;
  readonly generationId: string;
  readonly requestId: string;
  /** Epoch milliseconds. */
  readonly openedAtMs: number;
  readonly model: string;
  /** Id. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly streamed: boolean;
  readonly user?: string;
  readonly sessionId?: string;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Known when it is over. */
export interface Closed {
  readonly status: keyof typeof statuses;
  /** Of the contract. */
  readonly httpStatus: number;
  readonly durationMs: number;
  /** Empty when the call failed before it was known. */
  readonly serviceTier: string;
  /** Absent when nothing is known. */
  readonly tokens?: Tokens;
  readonly isEstimated: boolean;
  /** USD, decimal; absent when no price or no usage is known. */
  readonly costUsd?: string;
}

export const statuses = {
  completed: AttemptStatus.COMPLETED,
  incomplete: AttemptStatus.INCOMPLETE,
  failed: AttemptStatus.FAILED,
  cancelled: AttemptStatus.CANCELLED,
  lost: AttemptStatus.LOST,
} as const;

/** Which closings were counted: by a number without gaps in each start of a process. */
export interface Counted {
  readonly bootId: string;
  readonly sequence: number;
  readonly instance: string;
}

export type ClosedRecord = Opened & Closed & Counted;

/** A line of the spool. */
export type Line =
  | { readonly kind: "open"; readonly record: Opened }
  | { readonly kind: "close"; readonly record: ClosedRecord };

/** By what a call is known everywhere. */
export const callOf = ({ turnId, attempt }: Opened): string => `${turnId}/${attempt}`;

/** The process is gone that made the call. */
export const lost: Closed = { status: "lost", httpStatus: 502, durationMs: 0, serviceTier: "", isEstimated: false };

export function messageOf({ status, sequence, openedAtMs, tokens, ...rest }: ClosedRecord): UsageRecord {
  return create(UsageRecordSchema, {
    ...rest,
    status: statuses[status],
    sequence: BigInt(sequence),
    openedAtMs: BigInt(openedAtMs),
    ...(tokens && { tokens }),
  });
}
