/**
 * The plugin `pareto-router`, for `service/pareto-code`: chooses the cheapest model with a good enough coding score, or
 * the best model within a price, and two fallbacks. The choice needs only the catalogue, and calls no model.
 */
import type { ParetoRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { type Endpoint, type Variant, isEmbeddingModel } from "../../../models/routing/catalog.ts";
import type { CandidateGroup } from "../../../models/routing/choose/candidates.ts";
import type { RouterFeature } from "../router-slugs.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import {
  maxModels,
  maxListedModels,
  noEndpoints,
  applyStickySession,
} from "../../../models/routing/choose/model-aliases.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { Stage } from "../../../turn/trace.ts";
import { type ParetoChoice, type ParetoOptions, chooseByScore } from "./choice.ts";
import type { CodingModel } from "./field.ts";
import { paretoSlug } from "../../slugs.ts";

const slug = paretoSlug;

export const paretoRouter: RouterFeature = {
  id: "pareto-router",
  slug,
  choose: (router) => (request, scope, variant) => {
    const settings = request.plugins?.paretoRouter;
    const promptShare = promptShareOf(router, settings);
    const { pool, scores } = fieldOf(router, request, scope, promptShare ?? 1);
    const choice = chooseByScore(pool, scores, wishOf(settings, variant));
    const coders = choice.coders.map(({ model }) => model);
    const slugs = applyStickySession(coders, slug, router, request, scope).slice(0, maxModels);
    if (slugs.length === 0) throw noCandidates(settings);
    scope.trace.strategy = "pareto";
    scope.trace.stages.push(stageOf(choice, slugs, promptShare));
    return slugs;
  },
};

/** The measured share of prompt tokens, by which prices are weighted; undefined when only prompt prices are compared. */
const promptShareOf = ({ records }: Router, settings: ParetoRouterPlugin | undefined): number | undefined =>
  settings?.priceSource === "weighted_avg" ? records.tokenMix.promptShare(records.now()) : undefined;

const wishOf = (settings: ParetoRouterPlugin | undefined, variant: Variant | undefined): ParetoOptions => ({
  fastest: variant === "nitro",
  ...(settings?.maxPrice !== undefined && { maxPrice: settings.maxPrice }),
  ...(settings?.minCodingScore !== undefined && { minCodingScore: settings.minCodingScore }),
});

interface Field {
  /** Models with a score that can serve the request. */
  readonly pool: readonly CodingModel[];
  /** All scores, including those of models that cannot serve the request: quality is ranked within the whole catalogue. */
  readonly scores: readonly number[];
}

/** Finds the models that can serve, and all scores. @throws Fault of Router.able, and NO_ENDPOINTS when no model of the catalogue has a score */
function fieldOf(router: Router, request: TurnRequest, scope: Scope, promptShare: number): Field {
  const scored = new Map(
    router.catalog.models.flatMap(({ settings }) =>
      settings.scores?.["coding"] === undefined || isEmbeddingModel(settings)
        ? []
        : [[settings.id, settings.scores["coding"]]],
    ),
  );
  if (scored.size === 0) {
    throw noEndpoints(slug, "no model of the catalogue has scores.coding");
  }
  const groups = router.findCandidates({ ...request, models: [...scored.keys()] }, scope);
  const pool = groups.map((group) => coderOf(group, scored.get(group.model) ?? 0, router, promptShare));
  return { pool, scores: [...scored.values()] };
}

function coderOf(
  { model, endpoints }: CandidateGroup,
  score: number,
  router: Router,
  promptShare: number,
): CodingModel {
  const speedOf = (endpoint: Endpoint) => router.throughput(endpoint) ?? [];
  return {
    model,
    score,
    price: extreme(
      Math.min,
      endpoints.flatMap(({ prices }) =>
        prices ? [promptShare * prices.prompt + (1 - promptShare) * prices.completion] : [],
      ),
    ),
    throughput: extreme(Math.max, endpoints.flatMap(speedOf)),
  };
}

const extreme = (of: (...values: number[]) => number, values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : of(...values);

const stageOf = (
  { coders, tier, frontierSize }: ParetoChoice,
  slugs: readonly string[],
  promptShare: number | undefined,
): Stage => ({
  type: "plugin",
  name: "pareto-router",
  summary: `${slugs[0]}${tier ? `, of the ${tier} tier` : ""}`,
  data: {
    ...(tier && { tier }),
    frontier_size: frontierSize,
    price_source: promptShare === undefined ? "prompt" : "weighted_avg",
    ...(promptShare !== undefined && { prompt_share: Math.round(promptShare * 1_000) / 1_000 }),
    candidates: coders.slice(0, maxListedModels).map(({ model }) => model),
  },
});

const noCandidates = (settings: ParetoRouterPlugin | undefined): Fault =>
  noEndpoints(
    slug,
    settings?.maxPrice === undefined
      ? "no model that is among the better half at writing code can serve this request"
      : `no model with scores.coding can serve this request for ${settings.maxPrice} USD a million tokens`,
  );
