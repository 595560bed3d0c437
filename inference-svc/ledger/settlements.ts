/**
 * Tells the budgets what calls have cost: at once where the next call of the account may depend on it, else once a second, because the record of
 * the call says the same soon. What cannot be told is told again: an amount that nobody releases is held for as long as this process lives.
 */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import {
  EndHoldsRequestSchema,
  LedgerService,
  RenewHoldsRequestSchema,
  SettleHoldsRequestSchema,
  SettledCallSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log/log.js";
import { decimal } from "@sluice/proto/runtime/money.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { Owner } from "./long-turns.ts";

/** Interval at which costs are told that no call depends on. */
const lateMs = 1_000;
/** Interval of renewal. The budgets take what is held for a charge after ten minutes without one. */
const renewMs = 2 * 60_000;
/** Timeout of a message, for which the end of an answer may wait. */
const timeoutMs = 2_000;
/** Largest number of calls in one message. */
const maxCalls = 500;
const outages: ReadonlySet<FaultReason> = new Set([FaultReason.UNAVAILABLE, FaultReason.DEADLINE_EXCEEDED]);
/** Most calls that wait while admin-svc is away. The oldest are given up beyond it: most of those never reached it. */
const maxWaiting = 20_000;

export interface HeldCall {
  readonly turnId: string;
  readonly attempt: number;
}

export interface SettlementParts {
  /** Client of admin-svc's ledger. */
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "warn">;
  /** Start of this process. */
  readonly bootId: string;
  /** Name of this process. */
  readonly instance: string;
}

/** A call that has ended. */
export interface EndedCall extends HeldCall {
  /** Payer of the call. */
  readonly owner: Owner;
  /** Cost in 10^-12 USD. */
  readonly pico: bigint;
}

export class Settlements {
  readonly #parts: SettlementParts;
  /** Called for each call whose cost the budgets know. */
  readonly #onTold: (owner: Owner) => void;
  readonly #waiting: EndedCall[] = [];
  /** Number of calls that were noted, and of those that have left the list. */
  #added = 0;
  #taken = 0;
  /** True while admin-svc is away, so that it is logged once. */
  #isFailing = false;
  #telling: Promise<void> | undefined;
  #late: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;

  constructor(parts: SettlementParts, onTold: (owner: Owner) => void) {
    this.#parts = parts;
    this.#onTold = onTold;
  }

  /** Renews what is held for calls of this process, from now on for as long as it lives: their records may have to wait. */
  keepHolds(): void {
    if (this.#renewing) return;
    this.#renewing = setInterval(() => void this.#renew(), renewMs).unref();
    void this.#renew();
  }

  /** Notes the cost of a call. A call that cost nothing holds nothing any more. */
  add(ended: EndedCall): void {
    this.#added++;
    if (this.#waiting.push(ended) > maxWaiting) this.#take(1);
    this.#late ??= setTimeout(this.#tellLate, lateMs).unref();
  }

  /** Tells all costs that were noted. Never rejects: the records of the calls tell them again. @returns once admin-svc knows them, or cannot be told */
  async tell(): Promise<void> {
    // Later notes are not waited for: under load there is always another one.
    const last = this.#added;
    while (this.#taken < last) {
      this.#telling ??= this.#tellNext().finally(() => (this.#telling = undefined));
      await this.#telling;
    }
    // The last of them may be in the message that is under way.
    await this.#telling;
  }

  readonly #tellLate = (): void => {
    this.#late = undefined;
    void this.tell();
  };

  async close(): Promise<void> {
    clearInterval(this.#renewing);
    clearTimeout(this.#late);
    await this.tell();
  }

  #take(count: number): EndedCall[] {
    const taken = this.#waiting.splice(0, count);
    this.#taken += taken.length;
    return taken;
  }

  async #tellNext(): Promise<void> {
    const ended = this.#take(maxCalls);
    const failure = await this.#settle(ended);
    if (failure !== undefined) return this.#again(ended, failure);
    this.#isFailing = false;
    for (const { owner } of ended) this.#onTold(owner);
  }

  async #settle(ended: readonly EndedCall[]): Promise<unknown> {
    const calls = ended.map(({ turnId, attempt, pico }) =>
      create(SettledCallSchema, { turnId, attempt, costUsd: pico > 0n ? decimal(pico) : "" }),
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

  /** Tells the calls again later when admin-svc is away. */
  #again(ended: readonly EndedCall[], err: unknown): void {
    if (!this.#isFailing) this.#parts.log.warn({ err }, "the budgets cannot be told what calls have cost");
    this.#isFailing = true;
    if (err instanceof Fault && outages.has(err.reason)) this.#later(ended);
  }

  /** Tells the calls again a little later. */
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

/** Releases what is held for calls that a start of a process never began. @throws when admin-svc cannot be reached */
export async function endHolds(
  { client, token }: Pick<SettlementParts, "client" | "token">,
  bootId: string,
): Promise<void> {
  const request = create(EndHoldsRequestSchema, { bootId });
  await call(client, LedgerService.method.endHolds, request, serviceMetadata(token), timeoutMs);
}
