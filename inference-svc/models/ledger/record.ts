/** A call to a provider, as it is recorded in the ledger. */
import type { CallPurpose } from "@sluice/proto/lib/ledger/call-operation.js";

/** Facts known when a call begins. */
export interface CallStart extends CallPurpose {
  /** Id of the turn, a UUID of version 7. */
  readonly turnId: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly workspaceId: string;
  readonly keyHash: string;
  readonly generationId: string;
  readonly requestId: string;
  /** Time of the start in milliseconds since 1970. */
  readonly openedAtMs: number;
  readonly model: string;
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly streamed: boolean;
  readonly user: string | undefined;
  readonly sessionId: string | undefined;
  /** Tags of the turn as text; empty when it has none. */
  readonly tags: string;
  /** API format of the client's request; undefined means responses. */
  readonly door: string | undefined;
  /** Kind of task, from which routers learn; undefined when they learn nothing from the call. */
  readonly task: string | undefined;
  /** Whether a budget holds an amount for the call until its record is stored. This is not part of the record. */
  readonly isHeld: boolean;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** The cost and tokens of a call, as far as they are known while the call runs. */
export interface CallCharge {
  readonly tokens: Tokens;
  /** Cost in decimal USD; undefined when no price is known. */
  readonly costUsd: string | undefined;
}

export type CallStatus = "completed" | "incomplete" | "failed" | "cancelled" | "lost";

/** Facts known when a call has ended. */
export interface CallEnd {
  readonly status: CallStatus;
  /** HTTP status as in Sluice's API. */
  readonly httpStatus: number;
  readonly durationMs: number;
  /** Service tier of the answer; empty when the call failed before it was known. */
  readonly serviceTier: string;
  /** Tokens of the call; undefined when they are unknown. */
  readonly tokens: Tokens | undefined;
  readonly isEstimated: boolean;
  /**
   * Names of implausible figures from the provider, for which estimates are used; undefined when all are plausible.
   * This is not part of the record.
   */
  readonly doubted?: ReadonlySet<string> | undefined;
  /** Cost in decimal USD; undefined when no price or no usage is known. */
  readonly costUsd: string | undefined;
  /** Milliseconds until the provider's first event; undefined when there was none. */
  readonly firstMs: number | undefined;
  /** Finish reason of the model; undefined when the answer did not come to its end. */
  readonly finishReason: "stop" | "tool_calls" | "length" | "content_filter" | undefined;
}

/** The end of a call without an answer. */
export const toUnansweredEnd = (status: CallStatus, httpStatus: number, durationMs: number): CallEnd => ({
  status,
  httpStatus,
  durationMs,
  serviceTier: "",
  tokens: undefined,
  isEstimated: false,
  costUsd: undefined,
  firstMs: undefined,
  finishReason: undefined,
});

/**
 * The end of a call whose process was killed.
 * @param noted the last recorded charge; undefined when there is none
 */
export const toLostCallEnd = (noted: CallCharge | undefined): CallEnd => ({
  ...toUnansweredEnd("lost", 502, 0),
  tokens: noted?.tokens,
  isEstimated: noted !== undefined,
  costUsd: noted?.costUsd,
});

/** Number of an end among all ends that one start of a process has written; the numbers have no gaps. */
export interface CallSequence {
  readonly bootId: string;
  readonly sequence: number;
  readonly instance: string;
}
