/** The models among which the jev-router chooses, and their ability at a task. */
import type { JevRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { CandidateGroup } from "../../../models/routing/choose/candidates.ts";
import type { Catalog, CatalogModel } from "../../../models/routing/catalog.ts";
import { findAbilities } from "../../../models/routing/choose/abilities.ts";
import type { BenchmarkTask } from "../../../models/routing/choose/difficulty.ts";
import { estimateCost } from "../../../models/routing/price/expected-cost.ts";
import { Globs } from "../../../turn/globs.ts";
import { groupsWithRoom } from "../../../models/routing/choose/window-fit.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import { noEndpoints } from "../../../models/routing/choose/model-aliases.ts";
import { type InputSize, measureInput } from "../../../models/estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { type Effort, type JevOption, answerLengths } from "./choice.ts";
import { jevSlug } from "../../slugs.ts";

export interface SolverModels {
  /** Options the allow lists permit. */
  readonly options: readonly JevOption[];
  /** Options without regard to the allow lists. */
  readonly pool: readonly JevOption[];
  /** Whether the allow lists match no model, so they are ignored. */
  readonly ignoresLists: boolean;
}

/** Finds the models for a task. @throws Fault of Router.findCandidates, and NO_ENDPOINTS when the patterns leave no model */
export function findSolverModels(
  router: Router,
  request: TurnRequest,
  scope: Scope,
  task: BenchmarkTask,
  settings: JevRouterPlugin | undefined,
): SolverModels {
  const { catalog } = router;
  const none = new Globs(settings?.excludedModels ?? []);
  const allowed = [...(settings?.models ?? []), ...(settings?.allowedModels ?? [])];
  const some = new Globs(allowed);
  const models = answering(catalog, request).filter(({ settings: { id } }) => !none.matches(id));
  if (models.length === 0) throw noEndpoints(jevSlug, "no model is left by excluded_models");
  const size = measureInput(request);
  const groups = groupsWithRoom(router.findCandidates({ ...request, models: models.map(idOf) }, scope), request, size);
  // A model without a score counts as average.
  const abilities = findAbilities(models, task);
  const optionsOf = (group: CandidateGroup) => optionsIn(group, abilities.get(group.model) ?? 0, request, size);
  const listed = groups.filter(({ model }) => some.matches(model));
  const pool = groups.flatMap(optionsOf);
  const options = listed.length === 0 ? pool : listed.flatMap(optionsOf);
  return { options, pool, ignoresLists: allowed.length > 0 && listed.length === 0 };
}

const idOf = ({ settings: { id } }: CatalogModel): string => id;

/** Models with the requested output modalities, text by default. The built-in model counts only if there is no other. */
function answering({ models, providers }: Catalog, { outputModalities }: TurnRequest): readonly CatalogModel[] {
  const able = models.filter(
    ({ settings }) => outputModalities.length > 0 || settings.output_modalities.includes("text"),
  );
  const real = able.filter(({ endpoints }) =>
    endpoints.some(({ provider }) => providers.get(provider)?.dialect !== "echo"),
  );
  return real.length > 0 ? real : able;
}

const defaultEfforts: readonly Effort[] = ["low", "medium", "high"];

function optionsIn(
  group: CandidateGroup,
  ability: number,
  request: TurnRequest,
  size: InputSize,
): readonly JevOption[] {
  const { model, endpoints } = group;
  const hint = request.reasoning?.effort as Effort | undefined;
  const efforts = declaresReasoning(group)
    ? new Set([...defaultEfforts, ...(hint ? [hint] : [])])
    : new Set(["none" as const]);
  return [...efforts].map((effort) => ({
    model,
    effort,
    ability,
    cost: estimateCost(endpoints, request, size, answerLengths[effort]),
  }));
}

/** Whether the operator declares reasoning for the model; an endpoint without declarations counts as one without reasoning. */
export const declaresReasoning = ({ endpoints }: CandidateGroup): boolean =>
  endpoints.some(({ supportedParameters }) => supportedParameters?.includes("reasoning") === true);
