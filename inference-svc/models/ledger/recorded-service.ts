/** Records calls to services other than models, such as a search engine, in the same way as calls to models. */
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";
import type { Scope } from "../../turn/scope.ts";
import type { CallLedger, LedgerEntry } from "./ledger.ts";
import { type CallCharge, type CallEnd, toUnansweredEnd } from "./record.ts";
import { type CalledEndpoint, clientClosedStatus, toCallStart } from "./recorded.ts";

export type ServiceEnd = Pick<CallEnd, "status" | "httpStatus">;

export const answeredCall: ServiceEnd = { status: "completed", httpStatus: 200 };
export const failedCall: ServiceEnd = { status: "failed", httpStatus: 502 };
export const cancelledCall: ServiceEnd = { status: "cancelled", httpStatus: clientClosedStatus };

/** A call to a service whose start is recorded on disk. */
export class ServiceEntry {
  readonly #entry: LedgerEntry;
  readonly #startedAt = performance.now();

  private constructor(entry: LedgerEntry) {
    this.#entry = entry;
  }

  /**
   * Records the start of a call; settles once it is on disk.
   * @param scope scope of this call alone, with a turn id of its own
   * @throws Fault UNAVAILABLE
   */
  static open(ledger: CallLedger, callee: CalledEndpoint, scope: Scope): Promise<ServiceEntry> {
    const start = toCallStart(1, callee, { stream: false }, scope);
    return new Promise((resolve, reject) => {
      const entry = ledger.open(start, scope, (failure) =>
        failure ? reject(failure) : resolve(new ServiceEntry(entry)),
      );
    });
  }

  get elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  /** Records what the call costs if this process is killed before its end. @param pico cost in 10^-12 USD */
  note(pico: bigint): void {
    this.#entry.note(chargeOf(pico));
  }

  /** Records the end. @param pico cost of the call in 10^-12 USD; undefined when nothing is charged */
  close({ status, httpStatus }: ServiceEnd, pico?: bigint, isEstimated = false): void {
    const end = toUnansweredEnd(status, httpStatus, this.elapsedMs);
    this.#entry.close(pico === undefined ? end : { ...end, ...chargeOf(pico), isEstimated });
  }
}

const chargeOf = (pico: bigint): CallCharge => ({ tokens: noTokens, costUsd: toDecimal(pico) });

const noTokens = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
