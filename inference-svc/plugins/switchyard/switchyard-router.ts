/**
 * `service/switchyard`: of the models that a request names the cheap one where it will do, and the dear one where it will not. Put in its place at
 * once, so that everything behind it knows models only; which of them comes first is decided once nothing is left in the request that no judge may read.
 */
import { dollars } from "@sluice/proto/runtime/money.js";
import type { Route } from "../../internal/call.ts";
import type { Lack } from "../../internal/inquiry.ts";
import { Spending } from "../../internal/spending.ts";
import type { Group } from "../../routing/candidates.ts";
import type { Router, Told } from "../../routing/router.ts";
import { isToolTurn, saidByUsers } from "../../routing/said.ts";
import type { StandIn } from "../../routing/stand-ins.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage, Trace } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { type Roles, type Tier, candidatesOf, ordered, rolesOf, slug, slugOf } from "./candidates.ts";
import { type Forecaster, localForecast, tierOf } from "./forecast.ts";
import { signalsOf, stageVerdict } from "./score.ts";

export interface Switchyard {
  readonly standIn: StandIn;
  /** Behind what redacts: only for requests that named the slug. */
  readonly decided: Layer;
}

/** @param forecaster undefined: the house has none, so that what it would say is estimated */
export function switchyardRouter(router: Router, forecaster: Forecaster | undefined, told: Told): Switchyard {
  const undecided = new WeakSet<Trace>();
  return {
    standIn: {
      slug,
      choose(request, { trace }, variant) {
        const candidates = candidatesOf(request, variant);
        undecided.add(trace);
        return candidates;
      },
    },
    decided: onRequest(async (request, scope) => {
      if (!undecided.has(scope.trace)) return request;
      const models = await new Decision(router, forecaster, told(request, scope), scope).models();
      scope.trace.strategy = "auto";
      scope.trace.keptFor = { slug, request };
      return { ...request, models };
    }),
  };
}

/** Why a tier was chosen, for the receipt. */
type Reasons = Readonly<Record<string, unknown>>;

interface Chosen {
  readonly tier: Tier;
  readonly reasons: Reasons;
}

class Decision {
  readonly #router: Router;
  readonly #forecaster: Forecaster | undefined;
  readonly #request: TurnRequest;
  readonly #scope: Scope;
  readonly #groups: readonly Group[];
  readonly #spending = new Spending();
  readonly #startedAt = performance.now();
  readonly #isToolTurn: boolean;

  /** @throws Fault as Router.able */
  constructor(router: Router, forecaster: Forecaster | undefined, request: TurnRequest, scope: Scope) {
    this.#router = router;
    this.#forecaster = forecaster;
    this.#request = request;
    this.#scope = scope;
    this.#groups = router.able(request, scope);
    this.#isToolTurn = isToolTurn(request.input);
  }

  /** In the order in which they are asked; noted in the receipt. */
  async models(): Promise<readonly string[]> {
    const algorithm = this.#request.plugins?.switchyardRouter?.algorithm || "capability";
    const given = this.#groups.map(slugOf);
    const roles = rolesOf(this.#groups);
    if (algorithm === "passthrough" || roles === undefined) {
      const reason = given.length === 1 ? "one_candidate" : "one_price";
      this.#note(algorithm, given, algorithm === "passthrough" ? {} : { degraded_reason: reason });
      return given;
    }
    const { tier, reasons } = await this.#chosen(algorithm, roles);
    const models = ordered(tier, roles);
    this.#note(algorithm, models, { tier, ...reasons });
    return models;
  }

  async #chosen(algorithm: string, roles: Roles): Promise<Chosen> {
    const kept = this.#isToolTurn ? this.#kept(roles) : undefined;
    const pinned: Chosen | undefined = kept && { tier: kept, reasons: { pinned: true } };
    if (algorithm === "random") return pinned ?? this.#drawn();
    if (algorithm === "capability") return pinned ?? this.#forecast();
    const { tier, score, by } = stageVerdict(signalsOf(this.#request.input));
    const reasons = { score: Math.round(score * 1_000) / 1_000, ...(by && { signal: by }) };
    if (tier) return { tier, reasons };
    if (algorithm === "composite" && pinned) return { tier: pinned.tier, reasons: { ...reasons, ...pinned.reasons } };
    if (algorithm === "auto" || this.#forecaster === undefined) return { tier: "efficient", reasons };
    const forecast = await this.#forecast();
    return { tier: forecast.tier, reasons: { ...reasons, ...forecast.reasons } };
  }

  /** What has answered the session last. */
  #kept({ efficient, capable }: Roles): Tier | undefined {
    const model = this.#router.chosen(this.#request, this.#scope, slug);
    const served = this.#groups.find((group) => group.model === model);
    if (served === undefined) return undefined;
    if (slugOf(served) === efficient) return "efficient";
    return slugOf(served) === capable ? "capable" : undefined;
  }

  /** The same for everything that is done for one message of the user. */
  #drawn(): Chosen {
    const messages = saidByUsers(this.#request.input).length;
    const drawn = this.#router.drawn(this.#request, this.#scope, slug, messages);
    return { tier: drawn < 0.5 ? "efficient" : "capable", reasons: {} };
  }

  async #forecast(): Promise<Chosen> {
    const forecaster = this.#forecaster;
    if (forecaster === undefined) {
      const forecast = localForecast(this.#request);
      return { tier: tierOf(forecast), reasons: { judge: "local", p_solve: rounded(forecast.probability) } };
    }
    // Nobody is asked in a dry run; a failure would have the same outcome.
    if (this.#scope.dryRun === true) return { tier: "capable", reasons: { judge: "not_run" } };
    const occasion = { request: this.#request, scope: this.#scope, spent: this.#spending.note };
    const route: Route = (request, scope) => this.#router.able(request, scope);
    if (forecaster.forbidden(route, occasion).length > 0) {
      return { tier: "capable", reasons: { judge: forecaster.model, judge_failure: "data_policy" } };
    }
    const startedAt = performance.now();
    const forecast = await forecaster.forecast(occasion);
    const reasons = { judge: forecaster.model, judge_ms: Math.round(performance.now() - startedAt) };
    if (typeof forecast === "string")
      return { tier: "capable", reasons: { ...reasons, judge_failure: failures[forecast] } };
    const { probability, boundary } = forecast;
    return {
      tier: tierOf(forecast),
      reasons: { ...reasons, p_solve: rounded(probability), capability_boundary: boundary },
    };
  }

  #note(strategy: string, [first, ...rest]: readonly string[], reasons: Reasons): void {
    const { pico } = this.#spending;
    const isAsked = "judge_ms" in reasons;
    const stage: Stage = {
      type: "plugin",
      name: "switchyard-router",
      summary: `${first}, by ${strategy}`,
      ...(isAsked && { cost_usd: pico === undefined ? null : dollars(pico) }),
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

const failures: Readonly<Record<Lack, string>> = { failed: "error", malformed: "malformed_answer", late: "time_limit" };

const rounded = (probability: number): number => Math.round(probability * 1_000) / 1_000;
