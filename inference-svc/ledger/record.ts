/**
 * What is written down of a call to a provider: when it is begun, and when it is over. A line of the spool is a letter and a JSON object: `o`
 * with what is known at the beginning, `p` with what is to be charged if nothing more is heard, `c` with the beginning and the end, which is a
 * UsageRecord in the JSON mapping of protobuf.
 */
import type { Part, Purpose } from "../turn/scope.ts";

/** The purpose of a call; `charged_` stands before one of the operator's own that the key pays for. */
export type Kind = Purpose | Part | `charged_${Purpose}`;

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
  readonly kind?: `CALL_KIND_${Uppercase<Kind>}`;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** The charge for a call, as far as it is known while the call runs. */
export interface Noted {
  readonly tokens: Tokens;
  /** USD, decimal; absent when no price is known. */
  readonly costUsd?: string;
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
  /** Milliseconds until the provider gave its first event; absent when it gave none. */
  readonly firstMs?: number;
  /** Absent when the answer did not come to its end. */
  readonly finishReason?: "stop" | "tool_calls" | "length" | "content_filter";
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

/**
 * The end of a call whose process is gone.
 * @param noted undefined when an earlier version has begun the call
 */
export const lostEnd = (noted: Noted | undefined): Closed => ({
  status: "lost",
  httpStatus: 502,
  durationMs: 0,
  serviceTier: "",
  isEstimated: noted !== undefined,
  ...noted,
});

export const openedLine = (opened: Opened): string => `o${JSON.stringify(opened)}`;

export const notedLine = ({ turnId, attempt }: Opened, noted: Noted): string =>
  `p${JSON.stringify({ turnId, attempt, ...noted })}`;

/** @param line of the beginning, whose members are taken over as they stand */
export function closedLine(line: string, { status, ...closed }: Closed, counted: Counted): string {
  const end = JSON.stringify({ status: statuses[status], ...closed, ...counted });
  return `c${line.slice(1, -1)},${end.slice(1)}`;
}
