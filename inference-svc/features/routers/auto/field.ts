/** The models among which an auto router chooses, with their costs and scores. */
import type { CandidateGroup } from "../../../models/routing/choose/candidates.ts";
import { type Catalog, type CatalogModel, type Variant, isEmbeddingModel } from "../../../models/routing/catalog.ts";
import { estimateCost } from "../../../models/routing/price/expected-cost.ts";
import { Globs } from "../../../turn/globs.ts";
import { groupsWithRoom } from "../../../models/routing/choose/window-fit.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import { noEndpoints } from "../../../models/routing/choose/model-aliases.ts";
import { findTierPool } from "../../../models/routing/choose/tiers.ts";
import { measureInput } from "../../../models/estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { RankedModel } from "./choice.ts";
import { type ScoredSlug, learnScores } from "./learned-scores.ts";
import { type Task, scoreFor } from "./tasks/tasks.ts";

export interface TaskNeeds {
  /** Slug of the router, such as `service/auto`. */
  readonly slug: string;
  /** Patterns of slugs the router may choose; empty means all models known for the task. */
  readonly allowed: readonly string[];
  /** Patterns of slugs the router must not choose; they take precedence over `allowed`. */
  readonly excluded: readonly string[];
  readonly variant: Variant | undefined;
  readonly task: Task;
  /** Slug of the model chosen if it can serve. */
  readonly pin: string | undefined;
}

export interface ScoredModels {
  /** Models that can serve the request; at least one, unless a model is pinned. */
  readonly candidates: readonly RankedModel[];
  /** All models known for the task, including those that cannot serve the request. */
  readonly known: readonly RankedModel[];
  /** Slug of the pinned model; undefined when it is forbidden or cannot serve the request. */
  readonly pinned: string | undefined;
  /** Whether the scores were adjusted by the keys' spending. */
  readonly isLearned: boolean;
}

/** Finds the models for a task. @throws Fault of Router.findCandidates, and NO_ENDPOINTS when the patterns leave no model */
export function findScoredModels(router: Router, request: TurnRequest, scope: Scope, wanted: TaskNeeds): ScoredModels {
  const { catalog } = router;
  const models = catalog.models.filter((model) => matchesRequest(model, request));
  const known = knownOf(models, catalog, wanted.task);
  const { listed, pinned } = admitted(models, known, catalog, wanted);
  const requested = [...new Set(pinned ? [...listed, pinned] : listed)];
  if (requested.length === 0) throw noEndpoints(wanted.slug, "no model is left by allowed_models and excluded_models");
  const suffix = wanted.variant === undefined ? "" : `:${wanted.variant}`;
  const slugs = requested.map(({ settings: { id } }) => id + suffix);
  const size = measureInput(request);
  const groups = groupsWithRoom(router.findCandidates({ ...request, models: slugs }, scope), request, size);
  const able = new Map(groups.map((group) => [group.model, group]));
  const learned = learnScores(models.map(scoredFor(wanted.task)), router.records.taskSpending.of(wanted.task));
  const rated = (model: CatalogModel): RankedModel => {
    const { id, scores } = model.settings;
    const endpoints = able.get(id)?.endpoints ?? inPool(model, request, wanted.variant);
    const score = learned?.get(id) ?? scoreFor(wanted.task, scores);
    return { model: id, cost: estimateCost(endpoints, request, size), score };
  };
  return {
    candidates: listed.filter(({ settings: { id } }) => able.has(id)).map(rated),
    known: known.map(rated),
    pinned: pinned && able.has(pinned.settings.id) ? pinned.settings.id : undefined,
    isLearned: learned !== undefined,
  };
}

const scoredFor =
  (task: Task) =>
  ({ settings: { id, scores } }: CatalogModel): ScoredSlug => ({ model: id, score: scoreFor(task, scores) });

/** Whether a model has the requested output modalities; text is the default. */
const matchesRequest = ({ settings }: CatalogModel, { outputModalities }: TurnRequest): boolean =>
  outputModalities.length > 0 ? !isEmbeddingModel(settings) : settings.output_modalities.includes("text");

/** The models with a score for the task. If none has a score, all models count, except the built-in model if there is another. */
function knownOf(models: readonly CatalogModel[], { providers }: Catalog, task: Task): readonly CatalogModel[] {
  const scored = models.filter(({ settings: { scores } }) => scoreFor(task, scores) !== undefined);
  if (scored.length > 0) return scored;
  const real = models.filter(({ endpoints }) =>
    endpoints.some(({ provider }) => providers.get(provider)?.dialect !== "echo"),
  );
  return real.length > 0 ? real : models;
}

interface Admitted {
  readonly listed: readonly CatalogModel[];
  readonly pinned: CatalogModel | undefined;
}

function admitted(
  models: readonly CatalogModel[],
  known: readonly CatalogModel[],
  catalog: Catalog,
  { allowed, excluded, pin }: TaskNeeds,
): Admitted {
  const [some, none] = [new Globs(allowed), new Globs(excluded)];
  const admits = ({ settings: { id } }: CatalogModel) =>
    (allowed.length === 0 || some.matches(id)) && !none.matches(id);
  const named = pin === undefined ? undefined : catalog.find(pin)?.model;
  return {
    listed: (allowed.length === 0 ? known : models).filter(admits),
    pinned: named && models.includes(named) && admits(named) ? named : undefined,
  };
}

function inPool(
  model: CatalogModel,
  { serviceTier }: TurnRequest,
  variant: Variant | undefined,
): CandidateGroup["endpoints"] {
  const pool = findTierPool(model, serviceTier, variant);
  return model.endpoints.filter(({ tier }) => pool.includes(tier));
}
