/** Keys that spend from budgets: a call is made only when its worst case fits into what is left of each. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import {
  BudgetScope,
  LedgerService,
  ReserveBudgetRequestSchema,
  type ReserveBudgetResponse,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { decimal } from "@sluice/proto/runtime/money.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope, Stage } from "../turn/scope.ts";
import type { Turn } from "../turn/turn.ts";
import { Turnstile } from "./turnstile.ts";

/** As long as anybody who waits for a first event would wait for a policy. */
const timeoutMs = 2_000;

/** Far more than are answered in that time lose their answers, and what was held for them stays held for ten minutes. */
const mostQuestions = 64;

/** The truth about budgets is in one place, so that it is asked: any number of processes spend from the same one. */
export class Budgets {
  readonly #client: Client;
  readonly #token: ServiceToken;
  readonly #turnstile = new Turnstile(mostQuestions, timeoutMs);

  /** @param client of admin-svc */
  constructor(client: Client, token: ServiceToken) {
    this.#client = client;
    this.#token = token;
  }

  /**
   * Holds the amount until the record of the call is stored.
   * @param pico 10^-12 USD: what the call costs at most
   * @throws Fault PAYMENT_REQUIRED when it does not fit, GUARDRAIL_BLOCKED when the budget is one of a guardrail; UNAVAILABLE when nobody
   * can say
   */
  async reserve(scope: Scope, pico: bigint): Promise<void> {
    const { turnId, caller, trace, span } = scope;
    const { keyHash, workspaceId } = caller;
    const amountUsd = decimal(pico);
    const reservation = { turnId, attempt: trace.bills.length + 1, keyHash, workspaceId, amountUsd };
    const answer = await this.#ask(reservation, span).catch((cause: unknown) => {
      throw new Fault(FaultReason.UNAVAILABLE, "The budget of this key cannot be checked at the moment", {
        origin: FaultOrigin.ADMIN,
        retryAfterMs: 1_000,
        cause,
      });
    });
    if (answer.admitted) return;
    const guardrail = guardrailOf(answer, scope);
    if (guardrail) trace.stages.push(stageOf(guardrail));
    throw exhausted(answer, amountUsd);
  }

  #ask(
    reservation: {
      readonly turnId: string;
      readonly attempt: number;
      readonly keyHash: string;
      readonly workspaceId: string;
      readonly amountUsd: string;
    },
    trace: TraceHeaders | undefined,
  ): Promise<ReserveBudgetResponse> {
    const request = create(ReserveBudgetRequestSchema, reservation);
    const metadata = serviceMetadata(this.#token, { trace });
    return this.#turnstile.pass(() =>
      call(this.#client, LedgerService.method.reserveBudget, request, metadata, timeoutMs),
    );
  }
}

/** @param most what a call costs at most, in 10^-12 USD */
export const budgeted =
  (budgets: Pick<Budgets, "reserve">, most: (request: TurnRequest) => bigint, turn: Turn): Turn =>
  async (request, scope) => {
    if (!scope.caller.hasBudget || scope.purpose !== undefined) return turn(request, scope);
    await budgets.reserve(scope, most(request));
    // Also when the turn is over by now: then the call ends before it is made, and its record gives back what is held for it.
    return turn(request, scope);
  };

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

/** Whose budget it is, and to whom the guardrail is given. */
function guardrailOf({ guardrailId }: ReserveBudgetResponse, { caller }: Scope): Holding | undefined {
  if (guardrailId === "") return undefined;
  return { id: guardrailId, given: caller.guardrail?.id === guardrailId ? "api-key" : "workspace" };
}

interface Holding {
  readonly id: string;
  readonly given: string;
}

const stageOf = ({ id, given }: Holding): Stage => ({
  type: "guardrail",
  name: "budget",
  guardrail_id: id,
  guardrail_scope: given,
  summary: "Blocked: the call does not fit into the budget",
  data: { action: "blocked", detected: true, engines: ["budget"], patterns: [] },
});
