/** A request of a simulated client. */
import type { ClientKey } from "./keys.ts";

export interface ClientAnswer {
  readonly status: number;
  /** Milliseconds of the header Retry-After; 0 without the header. */
  readonly retryAfterMs: number;
}

/** An attempt of a request, as it arrives at a gateway. */
export interface GatewayRequest {
  readonly id: string;
  readonly key: ClientKey;
  /** Session id; undefined for a conversation of its own. */
  readonly session: string | undefined;
  readonly answered: (answer: ClientAnswer) => void;
}

export interface RetryBehaviour {
  readonly share: number;
  readonly attempts: number;
  /** Whether the client waits as long as the refusal asks for. */
  readonly obeys: boolean;
}

export interface ClientRequest {
  readonly id: string;
  /** Number of the request's key; 0 is the greedy key. */
  readonly key: number;
  readonly manner: RetryBehaviour;
  readonly session: string | undefined;
  /** Whether the request is sent to an inference process directly. */
  readonly isDirect: boolean;
  attempts: number;
  /** Time at which the present attempt arrived. */
  arrivedAt: number;
  /** Number of the latest attempt that began. */
  begunAttempt: number;
}
