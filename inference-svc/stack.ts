/** THE order of layers, outermost first, with the reason for each place. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { InternalModels } from "@sluice/proto/runtime/house-file.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { inputGuardrails } from "./guardrails/input/guard.ts";
import { judgedInput } from "./guardrails/judged/input.ts";
import { judgedOutput } from "./guardrails/judged/output.ts";
import { outputGuardrails } from "./guardrails/output/layer.ts";
import { Judge } from "./internal/judge.ts";
import { type Budgets, budgeted } from "./ledger/budget.ts";
import type { CallLedger } from "./ledger/ledger.ts";
import { recorded } from "./ledger/recorded.ts";
import type { Catalog, Endpoint } from "./routing/catalog.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { type Answered, billed } from "./routing/bill.ts";
import { fallback } from "./routing/fallback.ts";
import { type PlannedAttempt, mostOf, planOf } from "./routing/plan.ts";
import { Router, noteCandidates } from "./routing/router.ts";
import type { TurnRequest } from "./turn/request.ts";
import type { Scope } from "./turn/scope.ts";
import { type Batch, type Layer, type Turn, compose, type Patience } from "./turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";

export interface Parts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  /** What was seen of the endpoints; this process's own. */
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve">;
  /** Whom the house asks for its own purposes. */
  readonly internalModels: InternalModels;
  /** Shared by all replicas. */
  readonly secret: string;
  /** Failed attempts are logged: their causes are shown to nobody. */
  readonly log: Pick<Logger, "warn">;
}

/** What would become of a request. */
export interface Rehearsed {
  /** Why it would be refused, by a layer that may refuse what could be served. */
  readonly refusal: Fault | undefined;
  /** In the order in which they would be asked. */
  readonly plan: readonly PlannedAttempt[];
}

/** @throws Fault as a turn would, but for a block */
export type Rehearse = (request: TurnRequest, scope: Scope) => Promise<Rehearsed>;

export interface Stack {
  readonly turn: Turn;
  /** The same without asking anybody. */
  readonly rehearse: Rehearse;
}

export const buildStack = (parts: Parts): Stack => {
  const { catalog, upstreams, records, ledger, budgets, secret, log } = parts;
  const router = new Router({ catalog, telling: upstreams, secret, records });
  const answered: Answered = (endpoint, scope, usage) => router.answered(endpoint, scope, usage.cachedTokens);
  const attempt = (endpoint: Endpoint, patience: Patience): Turn =>
    // Only what fits into the budget is begun.
    budgeted(
      budgets,
      (request) => mostOf(endpoint, request),
      // Written down, with its bill, before anything else hears of it.
      recorded(ledger, endpoint, billed(endpoint, upstreams.turn(endpoint, patience), answered)),
    );
  // Closest to the wire: a failed attempt is seen by nobody, and only before commit can it be repeated elsewhere.
  const asked = fallback(router, { turn: attempt, rest: (endpoint) => upstreams.rest(endpoint) }, log);
  const { guard_judge: role } = parts.internalModels;
  const judge = role && new Judge(asked, role);
  // What could serve is known first, so that a refusal can name it, and so that a wrong slug costs nobody anything.
  const first = noteCandidates(router);
  const guards = [
    // Refuses and redacts before anything leaves the house or costs money.
    inputGuardrails,
    // By a model, which reads only what is left after that.
    judgedInput(judge),
    // Around what the patterns have let through: no judge reads what nobody shall.
    judgedOutput(judge),
    // Around all attempts: what one of them has said is delivered only when it was looked at, and a block is no reason to ask another.
    outputGuardrails,
  ];
  const layers = [first, ...guards];
  const unguarded = compose([first], asked);
  const guarded = compose(layers, asked);
  return {
    // Who is under no guardrail pays for none.
    turn: (request, scope) => (isGuarded(scope.caller) ? guarded : unguarded)(request, scope),
    async rehearse(request, scope) {
      const { sent, refusal } = await rehearsed(layers, request, scope);
      const plan = planOf(router.route(sent, scope), sent, (endpoint, told) => upstreams.told(endpoint, told));
      return { refusal, plan };
    },
  };
};

const isGuarded = ({ guardrail, workspaceGuardrails }: Caller): boolean =>
  guardrail !== undefined || workspaceGuardrails.length > 0;

/** The request as the layers leave it, or why one of them blocks it. */
async function rehearsed(
  layers: readonly Layer[],
  request: TurnRequest,
  scope: Scope,
): Promise<{ readonly sent: TurnRequest; readonly refusal: Fault | undefined }> {
  let sent = request;
  const last: Turn = (final) => {
    sent = final;
    return Promise.resolve(nothing);
  };
  try {
    await compose(layers, last)(request, scope);
    return { sent, refusal: undefined };
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== FaultReason.GUARDRAIL_BLOCKED) throw error;
    return { sent, refusal: error };
  }
}

const nothing: AsyncIterable<Batch> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ value: undefined, done: true }) }),
};
