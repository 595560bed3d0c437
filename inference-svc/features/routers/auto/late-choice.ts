/**
 * Router choices a classifier model may still change. A router first chooses by its local guess, to know the endpoints
 * before guardrails scan the request. After an unsure guess, a classifier model gets the redacted request, and the
 * router chooses again.
 */
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import type { ChooserSettings } from "@sluice/proto/config/internal-models.js";
import type { RouteRequest } from "../../../models/internal-calls/internal-call.ts";
import type { FailureKind } from "../../../models/internal-calls/judge-client.ts";
import { Spending } from "../../../models/internal-calls/internal-spending.ts";
import { auditLateEndpoints } from "../../../models/routing/choose/router.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { StateKey } from "../../../turn/turn-state.ts";
import type { Stage } from "../../../turn/trace.ts";
import type { Layer } from "../../../turn/turn.ts";
import { TaskClassifier, type TaskReading } from "./tasks/classifier.ts";
import type { Kit } from "../../kit.ts";

export interface ModelChoice {
  /** Slugs of the chosen models without a variant, best first. */
  readonly models: readonly string[];
  readonly stage: Stage;
}

/** A choice made by an unsure guess, which a classifier model may still change. */
export interface OpenChoice extends ModelChoice {
  /** Variant suffix of the router's slug; empty without a variant. */
  readonly suffix: string;
  /** Slugs named by the client. */
  readonly requestedModels: readonly string[];
  /** Stores the models for the session; called once the choice is final. */
  readonly settle: () => void;
  /** Chooses again by a classifier model's estimate. @throws Fault when no model can serve the request */
  readonly again: (reading: TaskReading, request: TurnRequest, scope: Scope) => ModelChoice;
}

const failures: Readonly<Record<FailureKind, string>> = {
  failed: "error",
  malformed: "malformed_answer",
  late: "time_limit",
};

export class LateChoices {
  readonly #open = new StateKey<OpenChoice[]>(() => []);
  readonly #word: string;

  /** @param word prefix of the role's fields in receipts, such as `classifier` in classifier_ms */
  constructor(word: string) {
    this.#word = word;
  }

  /** Keeps a choice open until its layer runs. */
  keep(choice: OpenChoice, { state }: Scope): void {
    state.get(this.#open).push(choice);
  }

  /** @param finish changes the request after the models were chosen again */
  layer(
    { callModel, router, toProviderRequest }: Pick<Kit, "callModel" | "router" | "toProviderRequest">,
    settings: ChooserSettings | undefined,
    finish: (request: TurnRequest, scope: Scope) => TurnRequest = (request) => request,
  ): Layer {
    if (settings === undefined) return this.#settling();
    const classifier = new TaskClassifier(callModel, settings);
    const route: RouteRequest = (request, scope) => router.findCandidates(request, scope);
    return requestLayer((request, scope) => {
      const open = scope.state.get(this.#open);
      if (open.length === 0) return request;
      return this.#decide(open, request, scope, { classifier, route }).then((models) => {
        if (models === undefined) return request;
        const chosen = finish({ ...request, models }, scope);
        auditLateEndpoints(router, toProviderRequest(chosen, scope), scope);
        return chosen;
      });
    });
  }

  /** The layer of a dry run, which calls no classifier model. */
  notRun(settings: ChooserSettings | undefined): Layer {
    if (settings === undefined) return this.#settling();
    return requestLayer((request, scope) => {
      for (const { stage } of scope.state.get(this.#open)) {
        replaceStage(scope, stage, { ...stage, data: { ...stage.data, [this.#word]: "not_run" } });
      }
      return request;
    });
  }

  /** The layer of an installation that has no model for the role: it makes each choice final. */
  #settling(): Layer {
    return requestLayer((request, scope) => {
      for (const { stage, settle } of scope.state.get(this.#open)) {
        replaceStage(scope, stage, { ...stage, data: { ...stage.data, [`${this.#word}_skipped`]: "not_configured" } });
        settle();
      }
      return request;
    });
  }

  /** Calls the classifier model. @returns undefined when the choice stays */
  async #decide(
    open: readonly OpenChoice[],
    request: TurnRequest,
    scope: Scope,
    { classifier, route }: { readonly classifier: TaskClassifier; readonly route: RouteRequest },
  ): Promise<readonly string[] | undefined> {
    const spending = new Spending();
    const context = { request, scope, spent: spending.note };
    const startedAt = performance.now();
    const isForbidden = classifier.forbidden(route, context).length > 0;
    const reading = isForbidden ? undefined : await classifier.read(context);
    const { pico } = spending;
    const requestedModels = {
      [`${this.#word}_model`]: classifier.model,
      [`${this.#word}_ms`]: Math.round(performance.now() - startedAt),
    };
    const note = (before: Stage, after: Stage, more: Stage["data"]): void =>
      replaceStage(scope, before, {
        ...after,
        ...(!isForbidden && { cost_usd: pico === undefined ? null : toDollars(pico) }),
        data: { ...after.data, ...more },
      });
    if (reading === undefined || typeof reading === "string") {
      const failure = { [`${this.#word}_failure`]: reading === undefined ? "data_policy" : failures[reading] };
      for (const { stage, settle } of open) {
        note(stage, stage, { ...(reading !== undefined && requestedModels), ...failure });
        settle();
      }
      return undefined;
    }
    let models = request.models;
    for (const choice of open) {
      const { models: slugs, stage } = choice.again(reading, request, scope);
      models = replaceModels(models, choice, slugs);
      note(choice.stage, stage, { [this.#word]: "model", ...requestedModels });
    }
    return models;
  }
}

function replaceStage({ trace: { stages } }: Scope, before: Stage, after: Stage): void {
  stages[stages.indexOf(before)] = after;
}

/** Replaces the models chosen for the slug. Models named by the client stay. */
function replaceModels(
  models: readonly string[],
  { models: before, suffix, requestedModels }: OpenChoice,
  slugs: readonly string[],
): readonly string[] {
  const named = new Set(requestedModels);
  const old = new Set(before.map((slug) => slug + suffix));
  const at = models.findIndex((slug) => old.has(slug));
  const keeps = (slug: string) => !old.has(slug) || named.has(slug);
  return [
    ...new Set([
      ...models.slice(0, at).filter(keeps),
      ...slugs.map((slug) => slug + suffix),
      ...models.slice(at).filter(keeps),
    ]),
  ];
}
