/**
 * `service/pareto-code`: a model that writes code, the cheapest that is good enough, or the best for a price. It is chosen by the catalogue
 * alone, so that a choice costs no call; two more stand behind it for when it fails.
 */
import type { ParetoRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { Endpoint, Variant } from "../../routing/catalog.ts";
import type { Group } from "../../routing/candidates.ts";
import type { Router } from "../../routing/router.ts";
import { type StandIn, mostModels, mostShown, nobodyFor, stayed } from "../../routing/stand-ins.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Choice, type Wish, choose } from "./choice.ts";
import type { Coder } from "./field.ts";

const slug = "service/pareto-code";

export const paretoRouter = (router: Router): StandIn => ({
  slug,
  choose(request, scope, variant) {
    const { pool, scores } = fieldOf(router, request, scope);
    const settings = request.plugins?.paretoRouter;
    const choice = choose(pool, scores, wishOf(settings, variant));
    const coders = choice.coders.map(({ model }) => model);
    const slugs = stayed(coders, slug, router, request, scope).slice(0, mostModels);
    if (slugs.length === 0) throw nobody(settings);
    scope.trace.strategy = "pareto";
    scope.trace.stages.push(stageOf(choice, slugs));
    return slugs;
  },
});

const wishOf = (settings: ParetoRouterPlugin | undefined, variant: Variant | undefined): Wish => ({
  fastest: variant === "nitro",
  ...(settings?.maxPrice !== undefined && { maxPrice: settings.maxPrice }),
  ...(settings?.minCodingScore !== undefined && { minCodingScore: settings.minCodingScore }),
});

interface Field {
  /** Who can serve the request. */
  readonly pool: readonly Coder[];
  /** Of all that have one, whether they can serve it or not: a request does not make anybody better. */
  readonly scores: readonly number[];
}

/** @throws Fault as Router.able, and NO_ENDPOINTS when no model of the catalogue has a score */
function fieldOf(router: Router, request: TurnRequest, scope: Scope): Field {
  const scored = new Map(
    router.catalog.models.flatMap(({ settings: { id, scores } }) =>
      scores?.["coding"] === undefined ? [] : [[id, scores["coding"]]],
    ),
  );
  if (scored.size === 0) {
    throw nobodyFor(slug, "nobody to choose from: no model of the catalogue has scores.coding");
  }
  const groups = router.able({ ...request, models: [...scored.keys()] }, scope);
  const pool = groups.map((group) => coderOf(group, scored.get(group.model) ?? 0, router));
  return { pool, scores: [...scored.values()] };
}

function coderOf({ model, endpoints }: Group, score: number, router: Router): Coder {
  const speedOf = (endpoint: Endpoint) => router.throughput(endpoint) ?? [];
  return {
    model,
    score,
    price: extreme(
      Math.min,
      endpoints.flatMap(({ prices }) => prices?.prompt ?? []),
    ),
    throughput: extreme(Math.max, endpoints.flatMap(speedOf)),
  };
}

const extreme = (of: (...values: number[]) => number, values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : of(...values);

const stageOf = ({ coders, tier, frontierSize }: Choice, slugs: readonly string[]): Stage => ({
  type: "plugin",
  name: "pareto-router",
  summary: `${slugs[0]}${tier ? `, of the ${tier} tier` : ""}`,
  data: {
    ...(tier && { tier }),
    frontier_size: frontierSize,
    // Of weighted_avg too: nobody has added up yet what the tokens of a model have really cost.
    price_source: "prompt",
    candidates: coders.slice(0, mostShown).map(({ model }) => model),
  },
});

const nobody = (settings: ParetoRouterPlugin | undefined): Fault =>
  nobodyFor(
    slug,
    settings?.maxPrice === undefined
      ? "no model that is among the better half at writing code can serve this request"
      : `no model with scores.coding can serve this request for ${settings.maxPrice} USD a million tokens`,
  );
