/** Reserves budget for calls: a call is made only when its maximum cost fits into every budget of its key. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Client, Metadata } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import {
  BudgetScope,
  LedgerService,
  RaiseBudgetRequestSchema,
  ReleaseBudgetRequestSchema,
  ReserveBudgetRequestSchema,
  type ReserveBudgetResponse,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log/log.js";
import { decimal } from "@sluice/proto/runtime/money.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { appliedTo } from "../turn/applied-guardrails.ts";
import type { Scope } from "../turn/scope.ts";
import type { Stage } from "../turn/trace.ts";
import { ConcurrencyLimit } from "./turnstile.ts";

/** Timeout of one reservation, as long as that of a policy: the client waits for its first event all the while. */
const timeoutMs = 2_000;

/**
 * Longest wait for a free place. It exceeds the timeout of one call, because a crowd shows no outage; clients give up on their headers
 * after ten seconds.
 */
const maxWaitMs = 5_000;

/** Maximum number of concurrent reservations; with far more, admin-svc answers after the timeout. */
const maxConcurrentCalls = 64;
/** Timeout of a release, for which no turn waits. */
const releaseTimeoutMs = 30_000;

/** The parts of a scope that a reservation needs. */
type Spender = Pick<Scope, "turnId" | "caller" | "trace"> & Partial<Pick<Scope, "span">>;

interface Reservation {
  readonly turnId: string;
  readonly attempt: number;
  readonly keyHash: string;
  readonly workspaceId: string;
  readonly amountUsd: string;
}

interface Refusal {
  /** performance.now() */
  readonly askedAt: number;
  /** The refused amount in 10^-12 USD. */
  readonly pico: bigint;
  readonly answer: ReserveBudgetResponse;
}

/** The amount that the budgets hold for one call until the record of the call is stored. */
export interface Hold {
  /** Tells the budget that the call costs at least so much, in 10^-12 USD. Never rejects, because the record of the call tells it again. */
  raise(pico: bigint): Promise<void>;
}

/** Client of the budgets in admin-svc, which are kept in one place, so that any number of processes can spend from them. */
export class Budgets {
  readonly #client: Client;
  readonly #token: ServiceToken;
  readonly #log: Pick<Logger, "warn">;
  readonly #turnstile = new ConcurrencyLimit(maxConcurrentCalls, maxWaitMs);
  /** The last refusal of each key, kept while other calls wait. */
  readonly #refusals = new Map<string, Refusal>();
  #releasing = 0;

  /** @param client of admin-svc */
  constructor(client: Client, token: ServiceToken, log: Pick<Logger, "warn">) {
    this.#client = client;
    this.#token = token;
    this.#log = log;
  }

  /**
   * Holds the amount until the record of the call is stored.
   * @param pico 10^-12 USD: the most that the call can cost
   * @throws Fault PAYMENT_REQUIRED when it does not fit, GUARDRAIL_BLOCKED when the budget is a guardrail's, UNAVAILABLE when admin-svc
   *   cannot be asked
   */
  async reserve(scope: Spender, pico: bigint): Promise<Hold> {
    const { turnId, caller, trace, span } = scope;
    const { keyHash, workspaceId } = caller;
    const reservation = { turnId, attempt: trace.bills.length + 1, keyHash, workspaceId, amountUsd: decimal(pico) };
    const metadata = serviceMetadata(this.#token, { trace: span });
    const answer = await this.#decided(reservation, pico, metadata).catch((cause: unknown) => {
      throw new Fault(FaultReason.UNAVAILABLE, "The budget of this key cannot be checked at the moment", {
        origin: FaultOrigin.ADMIN,
        retryAfterMs: 1_000,
        cause,
      });
    });
    if (answer.admitted) return { raise: (more) => this.#raise(reservation, more) };
    if (answer.guardrailId !== "") trace.stages.push(toStage(answer.guardrailId, scope));
    throw budgetExhausted(answer, reservation.amountUsd);
  }

  /**
   * Asks for a reservation. A refusal also answers other calls of the key that already waited when it was asked for and that need no less:
   * so a crowd at an empty budget is refused in time, instead of being told that the budget cannot be checked.
   */
  #decided(reservation: Reservation, pico: bigint, metadata: Metadata): Promise<ReserveBudgetResponse> {
    const { keyHash } = reservation;
    const arrivedAt = performance.now();
    return this.#turnstile.run(async () => {
      const known = this.#refusals.get(keyHash);
      if (known && known.askedAt >= arrivedAt && pico >= known.pico) return known.answer;
      const askedAt = performance.now();
      const answer = await this.#ask(reservation, metadata);
      if (this.#turnstile.waiting === 0) this.#refusals.clear();
      else if (!answer.admitted) this.#refusals.set(keyHash, { askedAt, pico, answer });
      return answer;
    });
  }

  async #ask(reservation: Reservation, metadata: Metadata): Promise<ReserveBudgetResponse> {
    const request = create(ReserveBudgetRequestSchema, reservation);
    try {
      return await call(this.#client, LedgerService.method.reserveBudget, request, metadata, timeoutMs);
    } catch (error) {
      this.#release(reservation, metadata);
      throw error;
    }
  }

  async #raise({ turnId, attempt }: Reservation, pico: bigint): Promise<void> {
    const request = create(RaiseBudgetRequestSchema, { turnId, attempt, amountUsd: decimal(pico) });
    // The metadata names no span, because the call's trace is over when its cost is known.
    const metadata = serviceMetadata(this.#token, {});
    await call(this.#client, LedgerService.method.raiseBudget, request, metadata, timeoutMs).catch((err: unknown) =>
      this.#log.warn(
        { err },
        "a call cost more than its hold, and the budget learns of it only from the record of the call",
      ),
    );
  }

  /** Releases an amount whose answer was lost. An amount that is not released is held for ten minutes. */
  #release({ turnId, attempt }: Reservation, metadata: Metadata): void {
    // admin-svc may be back in a moment, so that the first releases wait for it; later reservations never reached it.
    metadata.setOptions({ waitForReady: this.#releasing < maxConcurrentCalls });
    this.#releasing++;
    const request = create(ReleaseBudgetRequestSchema, { turnId, attempt });
    call(this.#client, LedgerService.method.releaseBudget, request, metadata, releaseTimeoutMs)
      .catch(() => {})
      .finally(() => this.#releasing--);
  }
}

const owners: Readonly<Record<BudgetScope, string>> = {
  [BudgetScope.UNSPECIFIED]: "key",
  [BudgetScope.KEY]: "key",
  [BudgetScope.WORKSPACE]: "workspace",
  [BudgetScope.GUARDRAIL]: "guardrail",
};

function budgetExhausted(answer: ReserveBudgetResponse, neededUsd: string): Fault {
  const { budget, limitUsd = "0", remainingUsd = "0" } = answer;
  const limit = Number(limitUsd);
  const remaining = Math.max(0, Number(remainingUsd));
  const needed = Number(neededUsd);
  const owner = owners[budget] ?? "key";
  const state =
    remaining > 0
      ? `the budget of this ${owner} has ${remaining} USD left of ${limit}, and this request could cost ${needed}; ask for fewer max_output_tokens, or raise the limit of the ${owner}`
      : `the budget of this ${owner}, ${limit} USD, is spent`;
  const byGuardrail = budget === BudgetScope.GUARDRAIL;
  const [reason, opening] = byGuardrail
    ? [FaultReason.GUARDRAIL_BLOCKED, "Request blocked"]
    : [FaultReason.PAYMENT_REQUIRED, "Insufficient credits"];
  return new Fault(reason, `${opening}: ${state}`, {
    origin: FaultOrigin.CLIENT,
    shouldRetry: false,
    metadata: { ...(!byGuardrail && { error_type: "payment_required", budget: owner }), limit, remaining, needed },
  });
}

function toStage(guardrailId: string, { caller }: Spender): Stage {
  // A guardrail that was assigned after the turn began is unknown here.
  const applied = appliedTo(caller).find(({ guardrail }) => guardrail.id === guardrailId);
  return {
    type: "guardrail",
    name: "budget",
    guardrail_id: guardrailId,
    ...(applied && { guardrail_scope: applied.scope }),
    summary: "Blocked: the call does not fit into the budget",
    data: { action: "blocked", detected: true, engines: ["budget"], patterns: [] },
  };
}
