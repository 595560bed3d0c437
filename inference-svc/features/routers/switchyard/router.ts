/**
 * The plugin `switchyard-router`, for `service/switchyard`: serves a request with the cheaper of two models if it
 * suffices, else with the expensive one. The models replace the slug at once; their order is decided only after
 * guardrails have redacted the request, since a judge model may get it.
 */
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import type { CallContext, RouteRequest } from "../../../models/internal-calls/internal-call.ts";
import type { FailureKind } from "../../../models/internal-calls/judge-client.ts";
import { Spending } from "../../../models/internal-calls/internal-spending.ts";
import type { RouterFeature } from "../router-slugs.ts";
import type { CandidateGroup } from "../../../models/routing/choose/candidates.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import { endsWithToolOutput, userMessages } from "../../../models/routing/choose/user-messages.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { StateKey } from "../../../turn/turn-state.ts";
import type { Stage } from "../../../turn/trace.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { type Roles, type PriceTier, candidatesOf, orderByTier, assignRoles, slugOf } from "./candidates.ts";
import { estimateLocally } from "./local-estimate.ts";
import { SuccessPredictor, findTaskTier } from "./success-predictor.ts";
import { signalsOf, stageVerdict } from "./stage-score.ts";
import type { CallingFeature, DryKit } from "../../kit.ts";
import { switchyardSlug } from "../../slugs.ts";
import { applies } from "../../applies.ts";

/** Whether the slug was replaced by models whose order is not decided yet. */
const order = new StateKey(() => ({ isPending: false }));

export const switchyardRouter: RouterFeature = {
  id: "switchyard-router",
  slug: switchyardSlug,
  choose:
    () =>
    (request, { state }, variant) => {
      const candidates = candidatesOf(request, variant);
      state.get(order).isPending = true;
      return candidates;
    },
};

/** Feature that decides which of the two models is tried first. */
export const switchyardOrder: CallingFeature = {
  id: "switchyard-router",
  applies: applies.switchyardOrder,
  layer(kit) {
    const role = kit.roles.switchyard_judge;
    return ordering(
      kit,
      role ? predictWith(new SuccessPredictor(kit.callModel, role), kit.router) : estimateOnly(kit.router),
    );
  },
  dryRun: (kit) => ordering(kit, kit.roles.switchyard_judge ? notPredicted : estimateOnly(kit.router)),
};

const ordering = (
  { router, toProviderRequest }: Pick<DryKit, "router" | "toProviderRequest">,
  judge: TierJudge,
): Layer =>
  requestLayer(async (request, scope) => {
    if (!scope.state.get(order).isPending) return request;
    const models = await new Decision(router, judge, toProviderRequest(request, scope), scope).models();
    scope.trace.strategy = "auto";
    router.rememberAnswering(request, scope, switchyardSlug);
    return { ...request, models };
  });

/** Reasons for the choice, for the receipt. */
type Reasons = Readonly<Record<string, unknown>>;

interface Chosen {
  readonly tier: PriceTier;
  readonly reasons: Reasons;
}

interface TierJudge {
  /** Whether a judge model is configured. */
  readonly isModel: boolean;
  readonly choose: (context: CallContext, roles: Roles) => Chosen | Promise<Chosen>;
}

const estimateOnly = ({ catalog }: Router): TierJudge => ({
  isModel: false,
  choose({ request }, roles) {
    const { tier, efficient, capable } = estimateLocally(request, roles, catalog);
    const compared = capable === undefined ? {} : { p_solve_capable: rounded(capable) };
    return { tier, reasons: { judge: "local", p_solve: rounded(efficient), ...compared } };
  },
});

/** The judge of a dry run: it makes no prediction, so the default tier is used. */
const notPredicted: TierJudge = {
  isModel: true,
  choose: () => ({ tier: "capable", reasons: { judge: "not_run" } }),
};

const predictWith = (predictor: SuccessPredictor, router: Router): TierJudge => ({
  isModel: true,
  async choose(context) {
    const route: RouteRequest = (request, scope) => router.findCandidates(request, scope);
    if (predictor.forbidden(route, context).length > 0) {
      return { tier: "capable", reasons: { judge: predictor.model, judge_failure: "data_policy" } };
    }
    const startedAt = performance.now();
    const prediction = await predictor.predict(context);
    const reasons = { judge: predictor.model, judge_ms: Math.round(performance.now() - startedAt) };
    if (typeof prediction === "string")
      return { tier: "capable", reasons: { ...reasons, judge_failure: failures[prediction] } };
    const { probability, boundary } = prediction;
    return {
      tier: findTaskTier(prediction),
      reasons: { ...reasons, p_solve: rounded(probability), capability_boundary: boundary },
    };
  },
});

class Decision {
  readonly #router: Router;
  readonly #judge: TierJudge;
  readonly #request: TurnRequest;
  readonly #scope: Scope;
  readonly #groups: readonly CandidateGroup[];
  readonly #spending = new Spending();
  readonly #startedAt = performance.now();
  readonly #isToolTurn: boolean;

  /** Finds the models that can serve. @throws Fault of Router.able */
  constructor(router: Router, judge: TierJudge, request: TurnRequest, scope: Scope) {
    this.#router = router;
    this.#judge = judge;
    this.#request = request;
    this.#scope = scope;
    this.#groups = router.findCandidates(request, scope);
    this.#isToolTurn = endsWithToolOutput(request.input);
  }

  /** The models in the order in which they are tried; the receipt records the reasons. */
  async models(): Promise<readonly string[]> {
    const algorithm = this.#request.plugins?.switchyardRouter?.algorithm || "capability";
    const given = this.#groups.map(slugOf);
    const roles = assignRoles(this.#groups);
    if (algorithm === "passthrough" || roles === undefined) {
      const reason = given.length === 1 ? "one_candidate" : "one_price";
      this.#note(algorithm, given, algorithm === "passthrough" ? {} : { degraded_reason: reason });
      return given;
    }
    const { tier, reasons } = await this.#chosen(algorithm, roles);
    const models = orderByTier(tier, roles);
    this.#note(algorithm, models, { tier, ...reasons });
    return models;
  }

  async #chosen(algorithm: string, roles: Roles): Promise<Chosen> {
    const kept = this.#isToolTurn ? this.#kept(roles) : undefined;
    const pinned: Chosen | undefined = kept && { tier: kept, reasons: { pinned: true } };
    if (algorithm === "random") return pinned ?? this.#drawn();
    if (algorithm === "capability") return pinned ?? this.#judged(roles);
    const { tier, score, by } = stageVerdict(signalsOf(this.#request.input));
    const reasons = { score: Math.round(score * 1_000) / 1_000, ...(by && { signal: by }) };
    if (tier) return { tier, reasons };
    if (algorithm === "composite" && pinned) return { tier: pinned.tier, reasons: { ...reasons, ...pinned.reasons } };
    if (algorithm === "auto" || !this.#judge.isModel) return { tier: "efficient", reasons };
    const judged = await this.#judged(roles);
    return { tier: judged.tier, reasons: { ...reasons, ...judged.reasons } };
  }

  /** Tier of the model that served the session last. */
  #kept({ efficient, capable }: Roles): PriceTier | undefined {
    const model = this.#router.findStickyModel(this.#request, this.#scope, switchyardSlug);
    const served = this.#groups.find((group) => group.model === model);
    if (served === undefined) return undefined;
    if (slugOf(served) === efficient) return "efficient";
    return slugOf(served) === capable ? "capable" : undefined;
  }

  /** A random tier, which stays the same until the user's next message. */
  #drawn(): Chosen {
    const messages = userMessages(this.#request.input).length;
    const drawn = this.#router.drawFraction(this.#request, this.#scope, switchyardSlug, messages);
    return { tier: drawn < 0.5 ? "efficient" : "capable", reasons: {} };
  }

  async #judged(roles: Roles): Promise<Chosen> {
    const context = { request: this.#request, scope: this.#scope, spent: this.#spending.note };
    return this.#judge.choose(context, roles);
  }

  #note(strategy: string, [first, ...rest]: readonly string[], reasons: Reasons): void {
    const { pico } = this.#spending;
    const isClassified = "judge_ms" in reasons;
    const stage: Stage = {
      type: "plugin",
      name: "switchyard-router",
      summary: `${first}, by ${strategy}`,
      ...(isClassified && { cost_usd: pico === undefined ? null : toDollars(pico) }),
      data: {
        resolved_to: first,
        fallback_models: rest,
        strategy,
        ...reasons,
        route_ms: Math.round(performance.now() - this.#startedAt),
      },
    };
    this.#scope.trace.stages.push(stage);
  }
}

const failures: Readonly<Record<FailureKind, string>> = {
  failed: "error",
  malformed: "malformed_answer",
  late: "time_limit",
};

const rounded = (probability: number): number => Math.round(probability * 1_000) / 1_000;
