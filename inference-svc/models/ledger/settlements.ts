/**
 * Reports the costs of calls to budgets: at once if the next call of the account may depend on it, else once a second,
 * because the record of the call soon reports the same. Failed reports are repeated, because an amount that is not
 * released is held for as long as this process lives.
 */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import {
  EndHoldsRequestSchema,
  LedgerService,
  RenewHoldsRequestSchema,
  SettleHoldsRequestSchema,
  SettledCallSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { toDecimal } from "@sluice/proto/lib/ledger/money.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { Owner } from "./long-turns.ts";

/** Milliseconds between reports of costs on which no call depends. */
const lateMs = 1_000;
/** Milliseconds between renewals of held amounts. After ten minutes without a renewal, budgets charge them. */
const renewMs = 2 * 60_000;
/** Milliseconds for a report; the end of an answer may wait for it. */
const timeoutMs = 2_000;
/** Maximum number of calls in one report. */
const maxCalls = 500;
const outages: ReadonlySet<FaultReason> = new Set([FaultReason.UNAVAILABLE, FaultReason.DEADLINE_EXCEEDED]);
/**
 * Maximum number of costs that wait while admin-svc cannot be reached. Beyond it the oldest are dropped: most of their
 * calls never reached admin-svc.
 */
const maxWaiting = 20_000;

export interface HeldCall {
  readonly turnId: string;
  readonly attempt: number;
}

export interface SettlementDeps {
  /** Client of admin-svc's ledger. */
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "warn">;
  /** Id of this start of the process. */
  readonly bootId: string;
  /** Name of this process. */
  readonly instance: string;
}

/** A call that has ended, with its cost. */
export interface EndedCall extends HeldCall {
  /** Owner of the budgets that pay for the call. */
  readonly owner: Owner;
  /** Cost in 10^-12 USD. */
  readonly pico: bigint;
}

export class Settlements {
  readonly #parts: SettlementDeps;
  /** Called for each call whose cost is reported. */
  readonly #onReported: (owner: Owner) => void;
  readonly #waiting: EndedCall[] = [];
  /** Number of costs ever noted; `#taken` is the number of those removed from the list. */
  #added = 0;
  #taken = 0;
  /** Whether admin-svc cannot be reached; this is logged only once. */
  #isFailing = false;
  #reporting: Promise<void> | undefined;
  #late: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;

  constructor(parts: SettlementDeps, onReported: (owner: Owner) => void) {
    this.#parts = parts;
    this.#onReported = onReported;
  }

  /** Renews the amounts held for calls of this process, from now on for as long as it lives: the records of these calls may have to wait. */
  keepHolds(): void {
    if (this.#renewing) return;
    this.#renewing = setInterval(() => void this.#renew(), renewMs).unref();
    void this.#renew();
  }

  /** Notes the cost of a call. A cost of 0 releases the hold. */
  add(ended: EndedCall): void {
    this.#added++;
    if (this.#waiting.push(ended) > maxWaiting) this.#take(1);
    this.#late ??= setTimeout(this.#reportLate, lateMs).unref();
  }

  /**
   * Reports all noted costs. Never rejects, because the records of the calls report them again. @returns a promise that
   * settles once admin-svc knows them, or cannot be reached
   */
  async report(): Promise<void> {
    // Costs noted later are not waited for: under load there are always more.
    const last = this.#added;
    while (this.#taken < last) {
      this.#reporting ??= this.#reportNext().finally(() => (this.#reporting = undefined));
      await this.#reporting;
    }
    // The last ones may be part of the report that is being sent.
    await this.#reporting;
  }

  readonly #reportLate = (): void => {
    this.#late = undefined;
    void this.report();
  };

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    clearTimeout(this.#late);
    await this.report();
  }

  #take(count: number): EndedCall[] {
    const taken = this.#waiting.splice(0, count);
    this.#taken += taken.length;
    return taken;
  }

  async #reportNext(): Promise<void> {
    const ended = this.#take(maxCalls);
    const failure = await this.#settle(ended);
    if (failure !== undefined) return this.#again(ended, failure);
    this.#isFailing = false;
    for (const { owner } of ended) this.#onReported(owner);
  }

  async #settle(ended: readonly EndedCall[]): Promise<unknown> {
    const calls = ended.map(({ turnId, attempt, pico }) =>
      create(SettledCallSchema, { turnId, attempt, costUsd: pico > 0n ? toDecimal(pico) : "" }),
    );
    const { client, token } = this.#parts;
    const request = create(SettleHoldsRequestSchema, { calls });
    try {
      const metadata = serviceMetadata(token);
      const { busyCount } = await call(client, LedgerService.method.settleHolds, request, metadata, timeoutMs);
      if (busyCount > 0) this.#later(ended);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Notes the costs again when admin-svc cannot be reached. */
  #again(ended: readonly EndedCall[], err: unknown): void {
    if (!this.#isFailing) this.#parts.log.warn({ err }, "the budgets cannot be told what calls have cost");
    this.#isFailing = true;
    if (err instanceof Fault && outages.has(err.reason)) this.#later(ended);
  }

  /** Schedules another report for a little later. */
  #later(ended: readonly EndedCall[]): void {
    setTimeout(() => ended.forEach((each) => this.add(each)), lateMs).unref();
  }

  async #renew(): Promise<void> {
    const { client, token, log, bootId, instance } = this.#parts;
    const request = create(RenewHoldsRequestSchema, { bootId, instance });
    await call(client, LedgerService.method.renewHolds, request, serviceMetadata(token), timeoutMs).catch(
      (err: unknown) => log.warn({ err }, "what budgets hold for calls of this process cannot be renewed"),
    );
  }
}

/** Releases amounts held for calls an earlier start of the process never began. @throws Error when admin-svc cannot be reached */
export async function endHolds(
  { client, token }: Pick<SettlementDeps, "client" | "token">,
  bootId: string,
): Promise<void> {
  const request = create(EndHoldsRequestSchema, { bootId });
  await call(client, LedgerService.method.endHolds, request, serviceMetadata(token), timeoutMs);
}
