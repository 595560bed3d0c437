/** Reserves money in budgets for calls: a call is made only when its maximum cost fits into every budget of its key. */
import type { Metadata } from "@grpc/grpc-js";
import { create } from "@bufbuild/protobuf";
import {
  BudgetScope,
  LedgerService,
  RaiseBudgetRequestSchema,
  ReserveBudgetRequestSchema,
  type ReserveBudgetResponse,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { toDecimal, parsePico as toPico } from "@sluice/proto/lib/ledger/money.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { guardrailsFor } from "../../turn/applied-guardrails.ts";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { Scope } from "../../turn/scope.ts";
import { tagAccount } from "../../turn/tag-budgets.ts";
import type { Stage } from "../../turn/trace.ts";
import { BudgetQueues } from "./budget-queues.ts";
import { type LongTurn, LongTurns, type Owner } from "./long-turns.ts";
import { Refusals } from "./refusals.ts";
import { type HeldCall, type SettlementDeps, Settlements } from "./settlements.ts";
import { TagAccounts } from "./tag-accounts.ts";

/** Milliseconds for one reservation, as for the lookup of a policy: the client waits for its first event meanwhile. */
const timeoutMs = 2_000;

/**
 * Maximum milliseconds a reservation waits for a free place. They exceed the time limit of a reservation, because many
 * callers at once are no outage; clients wait ten seconds for the headers of a response.
 */
const maxWaitMs = 5_000;

/** Maximum number of concurrent reservations; with far more, admin-svc answers only after their time limit. */
const maxConcurrentCalls = 64;
/**
 * Range of the Retry-After, in milliseconds, for a client refused because of held amounts: most of the calls that hold
 * them have ended by then.
 */
const retryAfterMs = { least: 500, most: 1_500 };
/** Members of a scope a reservation needs. */
type Spender = Pick<Scope, "turnId" | "caller" | "trace"> &
  Partial<Pick<Scope, "generationId" | "signal" | "span" | "tagBudgets">>;

interface Reservation extends HeldCall {
  readonly keyHash: string;
  readonly workspaceId: string;
  readonly amountUsd: string;
  readonly bootId: string;
  readonly keyBesidesUsd: string;
  readonly workspaceBesidesUsd: string;
  readonly tags: {
    readonly name: string;
    readonly value: string;
    readonly besidesUsd: string;
    readonly sharedBesidesUsd: string;
  }[];
}

/** The amount that budgets hold for one call until the record of the call is stored. */
export interface BudgetHold {
  /** Raises the held amount to at least this cost, in 10^-12 USD. Never rejects, because the record of the call reports the cost again. */
  raise(pico: bigint): Promise<void>;
  /**
   * Reports the cost of the call to the budgets, in 10^-12 USD; 0 releases the hold.
   * @returns resolves once the budgets know the cost; undefined when no next call depends on it. Never rejects
   */
  settle(pico: bigint): Promise<void> | undefined;
}

/** Client of the budgets, which admin-svc keeps in one place, so any number of processes can spend from them. */
export class Budgets {
  readonly #parts: SettlementDeps;
  readonly #slots = new ConcurrencySlots(maxConcurrentCalls);
  /** Refusals by key, or by key and accounts of tags, kept while other calls wait for a decision. */
  readonly #refusals = new Refusals<ReserveBudgetResponse>();
  readonly #heldMoney = new BudgetQueues<ReserveBudgetResponse>();
  readonly #settlements: Settlements;
  readonly #tagAccounts = new TagAccounts();
  readonly #longTurns = new LongTurns(this.#tagAccounts);

  constructor(parts: SettlementDeps) {
    this.#parts = parts;
    this.#settlements = new Settlements(parts, (owner) => this.#heldMoney.wake(owner));
  }

  /**
   * Holds the amount until the record of the call is stored. Waits briefly for amounts held for other calls.
   * @param pico maximum cost of the call in 10^-12 USD
   * @throws Fault PAYMENT_REQUIRED when it exceeds the remaining budget, GUARDRAIL_BLOCKED when the budget is a
   * guardrail's, BUDGET_HELD when only amounts held for other calls leave too little, UNAVAILABLE when admin-svc cannot
   * be reached
   */
  async reserve(scope: Spender, pico: bigint): Promise<BudgetHold> {
    const { trace, signal } = scope;
    const turn = this.#longTurns.find(scope.generationId ?? "");
    const held = callOf(scope);
    let answer = await this.#decided(held, scope, pico, turn);
    this.#settlements.keepHolds();
    if (answer.held) {
      const owner = queueOf(answer, scope);
      const wait = { isBegun: turn?.isBegun === true, signal };
      answer = await this.#heldMoney.wait(owner, wait, answer, async () => {
        await this.#settlements.report();
        return this.#decided(held, scope, pico, turn);
      });
    }
    if (answer.admitted) return this.#holdOf(held, ownerOf(scope), pico, answer);
    if (answer.guardrailId !== "" && !answer.held) trace.stages.push(toStage(answer.guardrailId, scope));
    throw budgetRefusal(answer, toDecimal(pico));
  }

  /**
   * Announces a turn that may make further calls: once its first call is admitted, an amount is reserved for the
   * others. @returns a function that ends the turn
   */
  begin(scope: Pick<Scope, "generationId" | "caller" | "tagBudgets">): () => void {
    const owner = ownerOf(scope);
    const end = this.#longTurns.begin(scope.generationId, owner);
    return () => {
      end();
      this.#heldMoney.wake(owner);
    };
  }

  /** Reports all costs that are not reported yet. */
  close(): Promise<void> {
    return this.#settlements.close();
  }

  #holdOf(call: HeldCall, owner: Owner, pico: bigint, answer: ReserveBudgetResponse): BudgetHold {
    // If a second call of this size would not fit, the next call depends on the cost of this one.
    const isNear = answer.remainingUsd !== undefined && toPico(answer.remainingUsd) < 2n * pico;
    return {
      raise: (more) => this.#raise(call, more),
      settle: (cost) => {
        this.#settlements.add({ ...call, owner, pico: cost });
        return isNear || cost > pico ? this.#settlements.report() : undefined;
      },
    };
  }

  /**
   * Requests a reservation. A refusal also answers other calls of the key with the same budgeted tags, if they were
   * already waiting at the time of the request and need no less. Many calls at an empty budget are thus refused in
   * time, instead of failing because the budget cannot be checked.
   */
  async #decided(
    held: HeldCall,
    scope: Spender,
    pico: bigint,
    turn: LongTurn | undefined,
  ): Promise<ReserveBudgetResponse> {
    const { token } = this.#parts;
    const {
      span,
      caller: { keyHash },
    } = scope;
    const arrivedAt = performance.now();
    try {
      const release = await this.#slots.take(maxWaitMs);
      if (release === undefined) throw new Error(`no place within ${maxWaitMs} ms`);
      try {
        const size = turn?.isBegun === true ? -1n : pico + this.#longTurns.besides(keyHash, pico, turn);
        const payer = this.#payerOf(scope);
        const known = this.#refusals.get(payer);
        if (known && known.requestedAt >= arrivedAt && size >= known.size) return known.answer;
        const requestedAt = performance.now();
        const reservation = { ...held, ...this.#reservationOf(scope, pico, turn) };
        const response = this.#reserve(reservation, ownerOf(scope), serviceMetadata(token, { trace: span }));
        const answer = turn ? await this.#longTurns.requestCall(turn, pico, response) : await response;
        if (scope.tagBudgets !== undefined && answer.budget === BudgetScope.TAG) this.#learn(scope, answer, turn);
        if (this.#slots.waiting === 0) this.#refusals.clear();
        else if (!answer.admitted) this.#refusals.set(this.#payerOf(scope), { requestedAt, size, answer });
        return answer;
      } finally {
        release();
      }
    } catch (cause) {
      throw new Fault(FaultReason.UNAVAILABLE, "The budget of this key cannot be checked at the moment", {
        origin: FaultOrigin.ADMIN,
        retryAfterMs: 1_000,
        cause,
      });
    }
  }

  /** Notes the account from which a tag of the call is paid. */
  #learn({ caller, tagBudgets = [] }: Spender, { tag }: ReserveBudgetResponse, turn: LongTurn | undefined): void {
    if (this.#tagAccounts.learn(tagBudgets, tagAccount(caller, tag)) && turn) this.#longTurns.moveKept(turn);
  }

  /** Key for the set of budgets that decide about a call, as far as they are known. */
  #payerOf({ caller: { keyHash }, tagBudgets }: Spender): string {
    if (tagBudgets === undefined) return keyHash;
    return [keyHash, ...tagBudgets.map((tag) => this.#tagAccounts.accountOf(tag))].join("\n");
  }

  #reservationOf(scope: Spender, pico: bigint, turn: LongTurn | undefined): Omit<Reservation, keyof HeldCall> {
    const { keyHash, workspaceId } = scope.caller;
    const [ofKey, ofWorkspace] = [keyHash, workspaceId].map((owner) => this.#longTurns.besides(owner, pico, turn));
    return {
      keyHash,
      workspaceId,
      amountUsd: toDecimal(pico),
      bootId: this.#parts.bootId,
      keyBesidesUsd: amountText(ofKey),
      workspaceBesidesUsd: amountText(ofWorkspace),
      tags: (scope.tagBudgets ?? []).map(({ name, value, owner, shared }) => ({
        name,
        value,
        besidesUsd: amountText(this.#longTurns.besides(owner, pico, turn)),
        sharedBesidesUsd: shared === undefined ? "" : amountText(this.#longTurns.besides(owner, pico, turn, shared)),
      })),
    };
  }

  async #reserve(reservation: Reservation, owner: Owner, metadata: Metadata): Promise<ReserveBudgetResponse> {
    const request = create(ReserveBudgetRequestSchema, reservation);
    try {
      return await call(this.#parts.client, LedgerService.method.reserveBudget, request, metadata, timeoutMs);
    } catch (error) {
      // The answer may be lost although the amount is held, so it is released.
      this.#settlements.add({ ...reservation, owner, pico: 0n });
      throw error;
    }
  }

  async #raise({ turnId, attempt }: HeldCall, pico: bigint): Promise<void> {
    const request = create(RaiseBudgetRequestSchema, { turnId, attempt, amountUsd: toDecimal(pico) });
    // The metadata names no span: when the cost is known, the trace of the call is over.
    const { client, token, log } = this.#parts;
    await call(client, LedgerService.method.raiseBudget, request, serviceMetadata(token, {}), timeoutMs).catch(
      (err: unknown) =>
        log.warn(
          { err },
          "a call cost more than its hold, and the budget learns of it only from the record of the call",
        ),
    );
  }
}

const amountText = (pico = 0n): string => (pico > 0n ? toDecimal(pico) : "");

const callOf = ({ turnId, trace }: Spender): HeldCall => ({ turnId, attempt: trace.bills.length + 1 });

const ownerOf = ({ caller: { keyHash, workspaceId }, tagBudgets }: Pick<Spender, "caller" | "tagBudgets">): Owner => ({
  keyHash,
  workspaceId,
  tagBudgets,
});

/** Key of the queue for a refused call: the account without room, which calls with other values of a tag may share. */
function queueOf({ budget, tag }: ReserveBudgetResponse, { caller }: Spender): string {
  if (budget === BudgetScope.WORKSPACE) return caller.workspaceId;
  return budget === BudgetScope.TAG ? tagAccount(caller, tag) : caller.keyHash;
}

/** Picodollars per dollar, to round a sum of floats to the precision of amounts. */
const picosPerDollar = 1e12;

/** The owner of a budget, in words for an error. */
interface BudgetOwner {
  readonly word: "key" | "workspace" | "guardrail" | "tag";
  /** Name of the owner, such as "the tag project=apollo". */
  readonly name: string;
  /** Name of the tag; empty for any other owner. */
  readonly tag: string;
  /** Name of the budget, with its period if the owner has several budgets. */
  readonly budget: string;
}

const ownerWords: Readonly<Record<BudgetScope, BudgetOwner["word"]>> = {
  [BudgetScope.UNSPECIFIED]: "key",
  [BudgetScope.KEY]: "key",
  [BudgetScope.WORKSPACE]: "workspace",
  [BudgetScope.GUARDRAIL]: "guardrail",
  [BudgetScope.TAG]: "tag",
};

function budgetOwner({ budget, tag, limitReset }: ReserveBudgetResponse): BudgetOwner {
  const word = ownerWords[budget] ?? "key";
  if (word !== "tag") return { word, name: `this ${word}`, tag: "", budget: "budget" };
  return { word, name: `the tag ${tag}`, tag, budget: limitReset === "" ? "budget" : `${limitReset} budget` };
}

function budgetRefusal(answer: ReserveBudgetResponse, neededUsd: string): Fault {
  const limit = Number(answer.limitUsd);
  const remaining = Number(answer.remainingUsd);
  const held = Number(answer.heldUsd ?? "0");
  const needed = Number(neededUsd);
  const owner = budgetOwner(answer);
  const amounts = { limit, remaining, held, needed };
  return answer.held ? heldRefusal(owner, amounts) : spentRefusal(owner, amounts);
}

/** Amounts in USD. */
interface Amounts {
  readonly limit: number;
  /** Amount that is neither spent nor held. */
  readonly remaining: number;
  readonly held: number;
  /** Amount the call needs. */
  readonly needed: number;
}

const ownerFields = ({ word, tag }: BudgetOwner) => ({ budget: word, ...(tag !== "" && { tag }) });

function heldRefusal(owner: BudgetOwner, amounts: Amounts): Fault {
  const { limit, remaining, held, needed } = amounts;
  const state = `of the ${owner.budget} of ${owner.name}, ${limit} USD, ${held} are held for requests under way and ${remaining} are free, and this request would hold ${needed}; try again in a moment`;
  const { least, most } = retryAfterMs;
  return new Fault(FaultReason.BUDGET_HELD, `Budget held: ${state}`, {
    origin: FaultOrigin.CLIENT,
    retryAfterMs: Math.round(least + Math.random() * (most - least)),
    metadata: { error_type: "budget_held", ...ownerFields(owner), ...amounts },
  });
}

function spentRefusal(owner: BudgetOwner, amounts: Amounts): Fault {
  const { limit, remaining, held, needed } = amounts;
  const left = Math.round((remaining + held) * picosPerDollar) / picosPerDollar;
  const ofThem = held > 0 ? ` (${held} of them held for requests under way)` : "";
  const state =
    left > 0
      ? `the ${owner.budget} of ${owner.name} has ${left} USD left of ${limit}${ofThem}, and this request could cost ${needed}; ask for fewer max_output_tokens, or raise the limit of the ${owner.word}`
      : `the ${owner.budget} of ${owner.name}, ${limit} USD, is spent`;
  const byGuardrail = owner.word === "guardrail";
  const [reason, opening] = byGuardrail
    ? [FaultReason.GUARDRAIL_BLOCKED, "Request blocked"]
    : [FaultReason.PAYMENT_REQUIRED, "Insufficient credits"];
  return new Fault(reason, `${opening}: ${state}`, {
    origin: FaultOrigin.CLIENT,
    shouldRetry: false,
    metadata: { ...(!byGuardrail && { error_type: "payment_required", ...ownerFields(owner) }), ...amounts },
  });
}

function toStage(guardrailId: string, { caller }: Spender): Stage {
  // A guardrail assigned after the turn began is unknown here.
  const applied = guardrailsFor(caller).find(({ guardrail }) => guardrail.id === guardrailId);
  return {
    type: "guardrail",
    name: "budget",
    guardrail_id: guardrailId,
    ...(applied && { guardrail_scope: applied.scope }),
    summary: "Blocked: the call does not fit into the budget",
    data: { action: "blocked", detected: true, engines: ["budget"], patterns: [] },
  };
}
