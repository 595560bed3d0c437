/** Keys that spend from budgets: a call is made only when its worst case fits into what is left of each. */
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
import type { Logger } from "@sluice/proto/runtime/log.js";
import { decimal } from "@sluice/proto/runtime/money.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { appliedTo } from "../turn/applied.ts";
import type { Scope, Stage } from "../turn/scope.ts";
import type { Hold } from "./hold.ts";
import { Turnstile } from "./turnstile.ts";

/** As long as anybody who waits for a first event would wait for a policy. */
const timeoutMs = 2_000;

/** A crowd waits longer for its turn than for an answer: that many ask shows no outage. Clients see their headers after ten seconds. */
const maxWaitMs = 5_000;

/** Far more than are answered in that time lose their answers. */
const mostQuestions = 64;
/** Nobody waits for it. */
const releaseTimeoutMs = 30_000;

/** For whom a call is made. */
type Spender = Pick<Scope, "turnId" | "caller" | "trace" | "span">;

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
  /** 10^-12 USD: what did not fit. */
  readonly pico: bigint;
  readonly answer: ReserveBudgetResponse;
}

/** The truth about budgets is in one place, so that it is asked: any number of processes spend from the same one. */
export class Budgets {
  readonly #client: Client;
  readonly #token: ServiceToken;
  readonly #log: Pick<Logger, "warn">;
  readonly #turnstile = new Turnstile(mostQuestions, maxWaitMs);
  /** The last refusal of each key, kept while other calls of the key wait. */
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
   * @param pico 10^-12 USD: what the call costs at most
   * @throws Fault PAYMENT_REQUIRED when it does not fit, GUARDRAIL_BLOCKED when the budget is one of a guardrail; UNAVAILABLE when nobody
   * can say
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
    if (answer.guardrailId !== "") trace.stages.push(stageOf(answer.guardrailId, scope));
    throw exhausted(answer, reservation.amountUsd);
  }

  /**
   * A refusal answers everybody who already waited when its question was sent and who wants no less: the same moment decides about them. So a
   * crowd at an empty budget is refused within its time, and not told that nobody could be asked.
   */
  #decided(reservation: Reservation, pico: bigint, metadata: Metadata): Promise<ReserveBudgetResponse> {
    const { keyHash } = reservation;
    const arrivedAt = performance.now();
    return this.#turnstile.pass(async () => {
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
    // No span: the trace of the call is over when its cost is known.
    const metadata = serviceMetadata(this.#token, {});
    await call(this.#client, LedgerService.method.raiseBudget, request, metadata, timeoutMs).catch((err: unknown) =>
      this.#log.warn({ err }, "a budget learns only from the record of a call what it cost above its worst case"),
    );
  }

  /** What was held while the answer was lost. Where nobody hears this either, it is held for ten minutes. */
  #release({ turnId, attempt }: Reservation, metadata: Metadata): void {
    // Whoever was to answer may be back in a moment. Those who were asked when it went come first; what comes after them was never held.
    metadata.setOptions({ waitForReady: this.#releasing < mostQuestions });
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

function exhausted(answer: ReserveBudgetResponse, neededUsd: string): Fault {
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
    metadata: { ...(!byGuardrail && { error_type: "payment_required" }), limit, remaining, needed },
  });
}

function stageOf(guardrailId: string, { caller }: Spender): Stage {
  // Unknown here when the key came under it after the turn began.
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
