/** Metered calls to services other than models: recorded like calls to models, and charged if the service has a price. */
import type { OperationWord } from "@sluice/proto/lib/ledger/call-operation.js";
import type { Scope } from "../../turn/scope.ts";
import type { TurnSignal } from "../../turn/signal.ts";

/** A service as the configuration file describes it. */
export interface PricedService {
  readonly operation: OperationWord;
  /** Name in the ledger beside the provider's, such as `search/exa`. */
  readonly model: string;
  /** Name of the service in the configuration file. */
  readonly provider: string;
  /** Price per call in decimal USD; undefined for a free service. */
  readonly price: string | undefined;
}

/** The turn a service is called for. */
export interface ServiceCaller {
  readonly scope: Scope;
  /** Aborted when the answer is no longer needed: at the end of the turn, or earlier. */
  readonly signal: TurnSignal;
}

export interface MeteredRequest<Answer> {
  /**
   * Sends the request. @param onSent called when the request is sent: from then on the service may charge for it, even
   * if nobody waits for the answer
   */
  readonly send: (onSent: () => void) => Promise<Answer>;
  /** Whether the service charges for this answer. */
  readonly isCharged: (answer: Answer) => boolean;
}

/**
 * Makes a call. Its price is reserved in the key's budgets before it is sent; afterwards, the ledger has a row for it,
 * and its cost is part of the turn's. A call without an answer costs nothing, unless it was abandoned while the service
 * was working on it.
 * @throws Fault PAYMENT_REQUIRED, GUARDRAIL_BLOCKED or BUDGET_HELD when a budget has too little left, UNAVAILABLE when
 * the call cannot be recorded, and errors of `send`
 */
export type Meter = <Answer>(caller: ServiceCaller, request: MeteredRequest<Answer>) => Promise<Answer>;

export type OpenMeter = (service: PricedService) => Meter;

/**
 * A call was abandoned before its answer was read to its end, so the service may charge for it. This error is the error
 * of the call, or the cause of it.
 */
export class CallAbandoned extends Error {
  /** HTTP status of the call in the ledger. */
  readonly status: 502 | 524;

  constructor(message: string, status: 502 | 524) {
    super(message);
    this.status = status;
  }
}
