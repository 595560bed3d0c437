/** A request of a simulated client. */
import type { ClientKey } from "./keys.ts";

export interface ClientAnswer {
  readonly status: number;
  /** Milliseconds of the header Retry-After; 0 for an answer without it. */
  readonly retryAfterMs: number;
}

/** An attempt as it arrives at a gateway. */
export interface GatewayRequest {
  readonly id: string;
  readonly key: ClientKey;
  /** Undefined for a separate conversation. */
  readonly session: string | undefined;
  readonly answered: (answer: ClientAnswer) => void;
}

export interface RetryBehaviour {
  readonly share: number;
  readonly attempts: number;
  /** Whether it waits for as long as the refusal asks for. */
  readonly obeys: boolean;
}

export interface ClientRequest {
  readonly id: string;
  /** Place of its key; the greedy one has place 0. */
  readonly key: number;
  readonly manner: RetryBehaviour;
  readonly session: string | undefined;
  /** Whether it is sent to an inference process, without a gateway. */
  readonly isDirect: boolean;
  attempts: number;
  /** Arrival time of its present attempt. */
  arrivedAt: number;
  /** The latest attempt. */
  begunAttempt: number;
}
