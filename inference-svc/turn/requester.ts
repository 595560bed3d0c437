/** The key and the client identifiers of a turn. */
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";

export interface Requester {
  readonly keyHash: string;
  readonly requestId: string;
  /** Value of X-Generation-Id. */
  readonly generationId: string;
  /** W3C trace headers of the request. */
  readonly trace: TraceHeaders;
  /** Trace id for the log; absent when tracing is off. */
  readonly traceId?: string;
  readonly policyGeneration: bigint;
  /** Whether the gateway has scanned the JSON texts of the request. */
  readonly scanned: boolean;
  /** performance.now() at which the turn times out; Infinity when it has no deadline. */
  readonly deadline: number;
}
