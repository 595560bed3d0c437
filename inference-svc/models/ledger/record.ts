/** A call to a provider, as the ledger records it. */
import type { CallPurpose } from "@sluice/proto/lib/ledger/call-operation.js";

/** Facts known when a call begins. */
export interface CallStart extends CallPurpose {
  /** UUID version 7 of the turn. */
  readonly turnId: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly workspaceId: string;
  readonly keyHash: string;
  readonly generationId: string;
  readonly requestId: string;
  /** Start in epoch milliseconds. */
  readonly openedAtMs: number;
  readonly model: string;
  /** Id of the provider. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly streamed: boolean;
  readonly user: string | undefined;
  readonly sessionId: string | undefined;
  /** Tags of the turn as text; empty when there are none. */
  readonly tags: string;
  /** API format of the client; undefined means responses. */
  readonly door: string | undefined;
  /** Kind of task; undefined for calls from which routers learn nothing. */
  readonly task: string | undefined;
  /** Whether a budget holds an amount for the call until its record is stored. Not part of the record. */
  readonly isHeld: boolean;
}

export interface Tokens {
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
}

/** The charge for a call, as far as it is known while the call runs. */
export interface CallCharge {
  readonly tokens: Tokens;
  /** Decimal USD; undefined when no price is known. */
  readonly costUsd: string | undefined;
}

export type CallStatus = "completed" | "incomplete" | "failed" | "cancelled" | "lost";

/** Facts known when a call is over. */
export interface CallEnd {
  readonly status: CallStatus;
  /** HTTP status of the contract. */
  readonly httpStatus: number;
  readonly durationMs: number;
  /** Tier served; empty when the call failed before it was known. */
  readonly serviceTier: string;
  /** Tokens of the call; undefined when nothing is known. */
  readonly tokens: Tokens | undefined;
  readonly isEstimated: boolean;
  /** Implausible figures of the provider, replaced by estimates; undefined when all were plausible. Not part of the record. */
  readonly doubted?: ReadonlySet<string> | undefined;
  /** Decimal USD; undefined when no price or no usage is known. */
  readonly costUsd: string | undefined;
  /** Milliseconds until the provider's first event; undefined when there was none. */
  readonly firstMs: number | undefined;
  /** Reason of the end; undefined when the answer did not come to its end. */
  readonly finishReason: "stop" | "tool_calls" | "length" | "content_filter" | undefined;
}

/** End of a call whose answer is unknown. */
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
 * End of a call whose process was killed.
 * @param noted undefined when nothing is known of its charge
 */
export const toLostCallEnd = (noted: CallCharge | undefined): CallEnd => ({
  ...toUnansweredEnd("lost", 502, 0),
  tokens: noted?.tokens,
  isEstimated: noted !== undefined,
  costUsd: noted?.costUsd,
});

/** Number of an end among all ends written by one start of a process; the numbers have no gaps. */
export interface CallSequence {
  readonly bootId: string;
  readonly sequence: number;
  readonly instance: string;
}
