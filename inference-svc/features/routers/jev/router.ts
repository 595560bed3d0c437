/**
 * The plugin `jev-router`, for `service/jev-router`: chooses the cheapest model and reasoning effort with nearly the
 * best chance at the task, and two fallback models. The difficulty is estimated in this process; if the request has
 * nothing to go by, a decider model is called, if configured.
 */
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import {
  type BenchmarkTask,
  type DifficultyEstimate,
  estimateDifficulty,
} from "../../../models/routing/choose/difficulty.ts";
import type { RouterFeature } from "../router-slugs.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import { maxModels, maxListedModels } from "../../../models/routing/choose/model-aliases.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { StateKey } from "../../../turn/turn-state.ts";
import type { Stage } from "../../../turn/trace.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import { LateChoices, type OpenChoice, type ModelChoice } from "../auto/late-choice.ts";
import type { Task } from "../auto/tasks/tasks.ts";
import { signalsOf, stageVerdict } from "../switchyard/stage-score.ts";
import {
  type JevCostTier,
  type Effort,
  type RatedOption,
  bestChance,
  rankOptions,
  rateOptions,
  findSlack,
  findCostTier,
} from "./choice.ts";
import { type SolverModels, findSolverModels } from "./field.ts";
import type { CallingFeature, Feature } from "../../kit.ts";
import { jevSlug } from "../../slugs.ts";
import { applies } from "../../applies.ts";

/** The chosen effort, undefined when none was chosen, and the client's own settings. */
interface ChosenEffort {
  readonly effort: Effort | undefined;
  readonly reasoning: TurnRequest["reasoning"];
}

/** The effort chosen for the requests of a turn; undefined when their own settings apply. */
const chosenEffort = new StateKey<{ chosen?: ChosenEffort }>(() => ({}));

/** Choices made by an uncertain estimate, which the model of the role `jev_decider` may change. */
const lateChoices = new LateChoices("decider");

export const jevRouter: RouterFeature = {
  id: "jev-router",
  slug: jevSlug,
  choose: (router) => (request, scope, variant) => {
    check(request);
    const task = estimateDifficulty(request);
    const { reasoning } = request;
    const made = choose({ router, task, notes: { decider: "local" }, session: request }, request, scope);
    scope.state.get(chosenEffort).chosen = { effort: made.effort, reasoning };
    scope.trace.strategy = "auto";
    scope.trace.stages.push(made.stage);
    const remember = ({ models: [first] }: ModelChoice) => {
      if (first !== undefined) router.rememberModel(request, scope, jevSlug, first);
    };
    if (made.isOpen && !task.hasCues) {
      const again: OpenChoice["again"] = ({ task: read, difficulty }, redacted, inner) => {
        const found = { task: benchmarkOf(read), difficulty };
        const given = withReasoning(redacted, reasoning);
        const late = choose({ router, task: found, notes: {}, session: request }, given, inner);
        inner.state.get(chosenEffort).chosen = { effort: late.effort, reasoning };
        remember(late);
        return late;
      };
      const suffix = variant === undefined ? "" : `:${variant}`;
      lateChoices.keep(
        { ...made, suffix, requestedModels: request.models, settle: () => remember(made), again },
        scope,
      );
    } else remember(made);
    return made.models;
  },
};

/** Feature that sets the reasoning effort chosen together with the model. */
export const jevEffort: Feature = {
  id: "jev-router",
  applies: applies.jevEffort,
  layer: () => requestLayer(withEffort),
};

/** Feature that chooses again after the input guardrails, by a decider model's estimate of the task. */
export const jevOrder: CallingFeature = {
  id: "jev-router",
  applies: applies.jevOrder,
  layer: (kit) => lateChoices.layer(kit, kit.roles.jev_decider, withEffort),
  dryRun: ({ roles }) => lateChoices.notRun(roles.jev_decider),
};

function withEffort(request: TurnRequest, { state }: Scope): TurnRequest {
  const { chosen } = state.get(chosenEffort);
  if (chosen === undefined) return request;
  const { effort, reasoning } = chosen;
  return withReasoning(request, effort === undefined ? reasoning : { ...reasoning, effort });
}

function withReasoning(request: TurnRequest, reasoning: TurnRequest["reasoning"]): TurnRequest {
  if (reasoning !== undefined) return { ...request, reasoning };
  const { reasoning: dropped, ...others } = request;
  return dropped === undefined ? request : others;
}

/** The benchmark that predicts the success at a task. */
function benchmarkOf(task: Task): BenchmarkTask {
  if (task === "code" || task === "code_agent") return "coding";
  return task === "math" ? "math" : "general";
}

/** Checks the request's settings. @throws Fault INVALID_REQUEST for settings the router does not support */
function check({ models, reasoning }: TurnRequest): void {
  const problems = new Problems();
  if (reasoning?.maxTokens !== undefined) {
    problems.add("reasoning.max_tokens", `${jevSlug} chooses the effort itself; reasoning.effort is a hint to it`);
  }
  if (reasoning?.mode === "pro") problems.add("reasoning.mode", `${jevSlug} does not choose models in mode pro`);
  const other = models.find((model) => model.startsWith("service/") && model.replace(/:.*/, "") !== jevSlug);
  if (other !== undefined) problems.add("models", `${jevSlug} cannot be combined with ${other}`);
  problems.throwIfAny();
}

interface Choice extends ModelChoice {
  /** The chosen effort; undefined for models without reasoning. */
  readonly effort: Effort | undefined;
  /** Whether another task or difficulty could have led to another model. */
  readonly isOpen: boolean;
}

interface Choosing {
  readonly router: Router;
  readonly task: Pick<DifficultyEstimate, "task" | "difficulty">;
  /** Reasons of the choice, for the receipt. */
  readonly notes: Stage["data"];
  /** The client's original request, which determines the session. */
  readonly session: TurnRequest;
}

/** Chooses models and effort. @throws Fault when no model can serve the request */
function choose({ router, task, notes, session }: Choosing, request: TurnRequest, scope: Scope): Choice {
  const settings = request.plugins?.jevRouter;
  const field = findSolverModels(router, request, scope, task.task, settings);
  const hint = request.reasoning?.effort;
  const isAgentic = request.tools.length > 0 || request.input.some(({ type }) => type.endsWith("_output"));
  const isStuck = isAgentic && stageVerdict(signalsOf(request.input)).tier === "capable";
  // A task in which the model got stuck gets the best model.
  const slack = findSlack(isStuck ? "high" : ((settings?.costTier || undefined) as JevCostTier | undefined));
  const options = rankOptions(rateOptions(field.options, task.difficulty, hint), slack);
  const kept = isAgentic && !isStuck ? router.findStickyModel(session, scope, jevSlug) : undefined;
  const inOrder = keptFirst(options, kept);
  const [first] = inOrder as [RatedOption];
  const models = [...new Set(inOrder.map(({ model }) => model))].slice(0, maxModels);
  const highest = bestChance(rateOptions(field.pool, task.difficulty, hint));
  const stage = stageOf({ models, options: inOrder, field, task, notes, slack, highest, isAgentic, isStuck, kept });
  const isOpen = first.model !== kept && inOrder.length > 1;
  return { models, stage, isOpen, effort: first.effort === "none" ? undefined : first.effort };
}

/** Moves the options of the session's model to the front: a task with tools keeps its model, with the effort that is best now. */
function keptFirst(options: readonly RatedOption[], kept: string | undefined): readonly RatedOption[] {
  const first = options.find(({ model }) => model === kept);
  return first === undefined ? options : [first, ...options.filter((option) => option !== first)];
}

interface Account {
  readonly models: readonly string[];
  readonly options: readonly RatedOption[];
  readonly field: SolverModels;
  readonly task: Choosing["task"];
  readonly notes: Choosing["notes"];
  readonly slack: number;
  /** The best chance of success among all usable models. */
  readonly highest: number;
  readonly isAgentic: boolean;
  readonly isStuck: boolean;
  readonly kept: string | undefined;
}

function stageOf({ models, options, field, task, notes, slack, highest, isAgentic, isStuck, kept }: Account): Stage {
  const [first] = options as [RatedOption];
  const allowed = options.reduce((a, b) => (b.chance > a.chance ? b : a));
  const isCapped = allowed.chance < highest - slack;
  return {
    type: "plugin",
    name: "jev-router",
    summary: first.effort === "none" ? first.model : `${first.model}, effort ${first.effort}`,
    data: {
      resolved_models: models,
      candidates: options.slice(0, maxListedModels).map((option) => candidateOf(option, highest)),
      reason: reasonOf(task, slack, isStuck, kept === first.model),
      ...notes,
      pipeline: isAgentic ? "agentic" : "default",
      ...(field.ignoresLists && { list_fallback: "models_ignored" }),
      ...(isCapped && { list_tier_cap: findCostTier(allowed, highest) ?? "low" }),
    },
  };
}

function candidateOf(option: RatedOption, highest: number) {
  const { model, effort, cost } = option;
  const tier = findCostTier(option, highest);
  return { model, effort, ...(tier && { tier }), estimated_cost: Number.isFinite(cost) ? cost / 1e12 : null };
}

function reasonOf({ difficulty, task }: Choosing["task"], slack: number, isStuck: boolean, isKept: boolean): string {
  const found = `difficulty ${difficulty.toFixed(1)} of 4, ${task}`;
  if (isKept) return `${found}: the session's model goes on`;
  return `${found}: the cheapest within ${slack} of the best${isStuck ? ", as the task has got stuck" : ""}`;
}
