/** Whom the jev-router chooses from, and how able they are at a task. */
import type { JevRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Group } from "../../routing/candidates.ts";
import type { Catalog, CatalogModel } from "../../routing/catalog.ts";
import type { Task } from "../../routing/difficulty.ts";
import { expectedCost } from "../../routing/expected-cost.ts";
import { Globs } from "../../routing/globs.ts";
import { withRoom } from "../../routing/roomiest.ts";
import type { Router } from "../../routing/router.ts";
import { nobodyFor } from "../../routing/stand-ins.ts";
import { type InputSize, sizeOf } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Effort, type Option, lengths } from "./choice.ts";

export const slug = "service/jev-router";

export interface Field {
  /** Who may be chosen. */
  readonly options: readonly Option[];
  /** Who could be without the lists that allow. */
  readonly pool: readonly Option[];
  /** The lists that allow match nobody. */
  readonly ignoresLists: boolean;
}

/** @throws Fault as Router.able, and NO_ENDPOINTS when the patterns leave nobody */
export function fieldOf(
  router: Router,
  request: TurnRequest,
  scope: Scope,
  task: Task,
  settings: JevRouterPlugin | undefined,
): Field {
  const { catalog } = router;
  const none = new Globs(settings?.excludedModels ?? []);
  const allowed = [...(settings?.models ?? []), ...(settings?.allowedModels ?? [])];
  const some = new Globs(allowed);
  const models = answering(catalog, request).filter(({ settings: { id } }) => !none.matches(id));
  if (models.length === 0) throw nobodyFor(slug, "no model is left by excluded_models");
  const size = sizeOf(request);
  const groups = withRoom(router.able({ ...request, models: models.map(idOf) }, scope), request, size);
  const abilities = abilitiesOf(models, task);
  const optionsOf = (group: Group) => optionsIn(group, abilities.get(group.model) ?? 0, request, size);
  const listed = groups.filter(({ model }) => some.matches(model));
  const pool = groups.flatMap(optionsOf);
  const options = listed.length === 0 ? pool : listed.flatMap(optionsOf);
  return { options, pool, ignoresLists: allowed.length > 0 && listed.length === 0 };
}

const idOf = ({ settings: { id } }: CatalogModel): string => id;

/** In words, where nothing else is asked for; the built-in one only where there is no other. */
function answering({ models, providers }: Catalog, { outputModalities }: TurnRequest): readonly CatalogModel[] {
  const able = models.filter(
    ({ settings }) => outputModalities.length > 0 || settings.output_modalities.includes("text"),
  );
  const real = able.filter(({ endpoints }) =>
    endpoints.some(({ provider }) => providers.get(provider)?.dialect !== "echo"),
  );
  return real.length > 0 ? real : able;
}

const usualEfforts: readonly Effort[] = ["low", "medium", "high"];

function optionsIn(group: Group, ability: number, request: TurnRequest, size: InputSize): readonly Option[] {
  const { model, endpoints } = group;
  const hint = request.reasoning?.effort as Effort | undefined;
  const efforts = reasons(group) ? new Set([...usualEfforts, ...(hint ? [hint] : [])]) : new Set(["none" as const]);
  return [...efforts].map((effort) => ({
    model,
    effort,
    ability,
    cost: expectedCost(endpoints, request, size, lengths[effort]),
  }));
}

/** As the operator declares it: of an endpoint that declares nothing nobody knows. */
export const reasons = ({ endpoints }: Group): boolean =>
  endpoints.some(({ supportedParameters }) => supportedParameters?.includes("reasoning") === true);

/** What benchmarks say of the task, else in general. */
const scoreOf = ({ settings: { scores } }: CatalogModel, task: Task): number | undefined =>
  scores?.[task] ?? scores?.["general"];

/** Standard deviations count half: benchmarks are not the task. */
const ofScores = 0.5;

/** By slug, around 0. Of a model without a score nobody knows: it counts as the middle of those with one. */
function abilitiesOf(models: readonly CatalogModel[], task: Task): ReadonlyMap<string, number> {
  const scored = models.flatMap((model) => {
    const score = scoreOf(model, task);
    return score === undefined ? [] : [{ id: idOf(model), score }];
  });
  const mean = scored.reduce((sum, { score }) => sum + score, 0) / scored.length;
  const deviation = Math.sqrt(scored.reduce((sum, { score }) => sum + (score - mean) ** 2, 0) / scored.length);
  return new Map(scored.map(({ id, score }) => [id, deviation === 0 ? 0 : (ofScores * (score - mean)) / deviation]));
}
