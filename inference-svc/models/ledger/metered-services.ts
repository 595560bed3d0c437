/** Meters calls to services other than models: their price is held in budgets before they are sent, and their record contains the cost. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import { toDollars, parsePico } from "@sluice/proto/lib/ledger/money.js";
import {
  CallAbandoned,
  type Meter,
  type MeteredRequest,
  type OpenMeter,
  type PricedService,
  type ServiceCaller,
} from "./service-meter.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import type { Scope } from "../../turn/scope.ts";
import { Trace } from "../../turn/trace.ts";
import type { Usage } from "../../turn/usage.ts";
import type { Budgets, BudgetHold } from "./budget.ts";
import { isBudgeted } from "./hold.ts";
import type { CallLedger } from "./ledger.ts";
import { type ServiceEnd, ServiceEntry, answeredCall, cancelledCall, failedCall } from "./recorded-service.ts";

export interface MeterDeps {
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve">;
}

export const meterServices =
  (parts: MeterDeps): OpenMeter =>
  (service) => {
    const price = parsePico(service.price ?? "0");
    const meter: Meter = async (caller, request) => {
      const call = new MeteredCall(service, price, caller);
      await call.begin(parts);
      return call.run(request);
    };
    return meter;
  };

class MeteredCall {
  readonly #service: PricedService;
  readonly #price: bigint;
  readonly #caller: ServiceCaller;
  /** Scope of this call alone. The receipt of its turn shows what guardrails do to it. */
  readonly #scope: Scope;
  #entry: ServiceEntry | undefined;
  #hold: BudgetHold | undefined;

  /** @param price price of the call in 10^-12 USD */
  constructor(service: PricedService, price: bigint, caller: ServiceCaller) {
    const { scope } = caller;
    this.#service = service;
    this.#price = price;
    this.#caller = caller;
    this.#scope = scope.with({
      operation: service.operation,
      turnId: newUuid(),
      trace: new Trace(scope.trace.policyGeneration, scope.trace.stages, scope.trace),
    });
  }

  /** Holds the price and records the start. @throws Fault when a budget has too little left, or the call cannot be recorded */
  async begin({ ledger, budgets }: MeterDeps): Promise<void> {
    const { model, provider, operation } = this.#service;
    throwIfAborted(this.#caller.signal);
    if (this.#price > 0n && isBudgeted(this.#scope)) this.#hold = await budgets.reserve(this.#scope, this.#price);
    const callee = { model, provider, upstreamModel: operation };
    try {
      this.#entry = await ServiceEntry.open(ledger, callee, this.#scope);
    } catch (error) {
      // Nothing was recorded, so no record will release the hold.
      await this.#hold?.settle(0n);
      throw error;
    }
    if (this.#price > 0n) this.#entry.note(this.#price);
  }

  async run<Answer>({ send, isCharged }: MeteredRequest<Answer>): Promise<Answer> {
    let isSent = false;
    try {
      // If the call was cancelled meanwhile, its record releases the hold.
      throwIfAborted(this.#caller.signal);
      const answer = await send(() => (isSent = true));
      if (isCharged(answer)) await this.#close(answeredCall, true);
      else await this.#close(failedCall, false);
      return answer;
    } catch (error) {
      const given = givenUp(error, this.#caller);
      await this.#close(given ?? failedCall, isSent && given !== undefined, true);
      throw error;
    }
  }

  /** Records the end of the call. @returns a promise that settles once the next call may depend on the cost of this one */
  async #close(end: ServiceEnd, isCharged: boolean, isEstimated = false): Promise<void> {
    const isPaid = isCharged && this.#price > 0n;
    this.#entry?.close(end, isPaid ? this.#price : undefined, isEstimated);
    if (isPaid) this.#charge(isEstimated);
    if (this.#price > 0n) this.#report(end, isPaid, isEstimated);
    await this.#hold?.settle(isPaid ? this.#price : 0n);
  }

  #charge(isEstimated: boolean): void {
    const { trace } = this.#scope;
    trace.bills.push({
      reported: undefined,
      usage: usageOf(this.#price, isEstimated),
      settled: true,
      abandoned: isEstimated,
    });
    this.#caller.scope.trace.parts.push(trace);
  }

  /** Adds the cost of the call to the receipt. */
  #report({ status }: ServiceEnd, isPaid: boolean, isEstimated: boolean): void {
    const { operation, provider } = this.#service;
    const outcome = status === "completed" ? "answered" : status === "cancelled" ? status : "failed";
    const cost = isPaid ? toDollars(this.#price) : 0;
    this.#caller.scope.trace.stages.push({
      type: "server_tools",
      name: operation,
      summary: `${provider} ${summaries[outcome]}`,
      cost_usd: cost,
      data: {
        service: provider,
        outcome,
        ms: this.#entry?.elapsedMs,
        ...(isPaid && isEstimated && { estimated: true }),
      },
    });
  }
}

const summaries = { answered: "answered", failed: "gave no answer", cancelled: "was left" };

const usageOf = (cost: bigint, isEstimated: boolean): Usage => ({
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  ...(isEstimated && { estimated: true }),
  cost: { input: 0n, output: 0n, serverTools: cost },
});

/** The end of a call abandoned while the service was working. @returns undefined for a call that failed by itself */
function givenUp(error: unknown, { scope, signal }: ServiceCaller): ServiceEnd | undefined {
  const { aborted, reason } = scope.signal;
  if (aborted) return reason instanceof Fault ? late(reason.attemptStatus) : cancelledCall;
  if (signal.aborted) return late(524);
  const cause = error instanceof Error && !(error instanceof CallAbandoned) ? error.cause : error;
  return cause instanceof CallAbandoned ? late(cause.status) : undefined;
}

const late = (httpStatus: number): ServiceEnd => ({ status: "failed", httpStatus });
