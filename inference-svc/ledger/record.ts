/**
 * What is written down of a call to a provider: when it is begun, and when it is over. A line of the spool is a letter and a JSON object: `o`
 * with what is known at the beginning, `c` with that and the end, which is a UsageRecord in the JSON mapping of protobuf.
 */
import type { Part, Purpose } from "../turn/scope.ts";

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
  /** Absent of a call that answers a request. */
  readonly kind?: `CALL_KIND_${Uppercase<Purpose | Part>}`;
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

const statuses = {
  completed: "ATTEMPT_STATUS_COMPLETED",
  incomplete: "ATTEMPT_STATUS_INCOMPLETE",
  failed: "ATTEMPT_STATUS_FAILED",
  cancelled: "ATTEMPT_STATUS_CANCELLED",
  lost: "ATTEMPT_STATUS_LOST",
} as const;

/** Which closings were counted: by a number without gaps in each start of a process. */
export interface Counted {
  readonly bootId: string;
  readonly sequence: number;
  readonly instance: string;
}

/** By what a call is known everywhere. */
export const callOf = ({ turnId, attempt }: Pick<Opened, "turnId" | "attempt">): string => `${turnId}/${attempt}`;

/** The process is gone that made the call. */
export const lost: Closed = { status: "lost", httpStatus: 502, durationMs: 0, serviceTier: "", isEstimated: false };

export const openedLine = (opened: Opened): string => `o${JSON.stringify(opened)}`;

/** @param line of the beginning, whose members are taken over as they stand */
export function closedLine(line: string, { status, ...closed }: Closed, counted: Counted): string {
  const end = JSON.stringify({ status: statuses[status], ...closed, ...counted });
  return `c${line.slice(1, -1)},${end.slice(1)}`;
}
