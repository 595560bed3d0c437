/**
 * `service/jev-router`: the cheapest model and effort of reasoning that are about as likely to solve the task as the best. How hard the task is, is
 * estimated here, so that a choice costs no call; two more models stand behind it for when it fails.
 */
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { type Estimate, estimate } from "../../routing/difficulty.ts";
import type { Router } from "../../routing/router.ts";
import { type StandIn, mostModels, mostShown } from "../../routing/stand-ins.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage, Trace } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { signalsOf, stageVerdict } from "../switchyard/score.ts";
import { type CostTier, type Effort, type Rated, best, ranked, rated, slackOf, tierOf } from "./choice.ts";
import { type Field, fieldOf, slug } from "./field.ts";

export interface JevRouter {
  readonly standIn: StandIn;
  /** Directly behind the choice: tells the model how hard to think. */
  readonly effort: Layer;
}

export function jevRouter(router: Router): JevRouter {
  const chosen = new WeakMap<Trace, Effort>();
  return {
    standIn: {
      slug,
      choose(request, scope) {
        check(request);
        const { models, effort } = choice(router, request, scope);
        if (effort !== "none") chosen.set(scope.trace, effort);
        return models;
      },
    },
    effort: onRequest((request, { trace }) => {
      const effort = chosen.get(trace);
      return effort === undefined ? request : { ...request, reasoning: { ...request.reasoning, effort } };
    }),
  };
}

/** @throws Fault INVALID_REQUEST */
function check({ models, reasoning }: TurnRequest): void {
  const problems = new Problems();
  if (reasoning?.maxTokens !== undefined) {
    problems.add("reasoning.max_tokens", `${slug} chooses the effort itself; reasoning.effort is a hint to it`);
  }
  if (reasoning?.mode === "pro") problems.add("reasoning.mode", `${slug} does not choose models in mode pro`);
  const other = models.find((model) => model.startsWith("service/") && model.replace(/:.*/, "") !== slug);
  if (other !== undefined) problems.add("models", `${slug} cannot be combined with ${other}`);
  problems.throwIfAny();
}

interface Choice {
  readonly models: readonly string[];
  readonly effort: Effort;
}

function choice(router: Router, request: TurnRequest, scope: Scope): Choice {
  const settings = request.plugins?.jevRouter;
  const task = estimate(request);
  const field = fieldOf(router, request, scope, task.task, settings);
  const hint = request.reasoning?.effort;
  const isAgentic = request.tools.length > 0 || request.input.some(({ type }) => type.endsWith("_output"));
  const isStuck = isAgentic && stageVerdict(signalsOf(request.input)).tier === "capable";
  // Where a task has got stuck only the best will do.
  const slack = slackOf(isStuck ? "high" : ((settings?.costTier || undefined) as CostTier | undefined));
  const options = ranked(rated(field.options, task.difficulty, hint), slack);
  const kept = isAgentic && !isStuck ? router.chosen(request, scope, slug) : undefined;
  const inOrder = keptFirst(options, kept);
  const [first] = inOrder as [Rated];
  router.choose(request, scope, slug, first.model);
  const models = [...new Set(inOrder.map(({ model }) => model))].slice(0, mostModels);
  const highest = best(rated(field.pool, task.difficulty, hint));
  scope.trace.strategy = "auto";
  scope.trace.stages.push(stageOf({ models, options: inOrder, field, task, slack, highest, isAgentic, isStuck, kept }));
  return { models, effort: first.effort };
}

/** A task goes on with the model that it was given, at the effort that is best now. */
function keptFirst(options: readonly Rated[], kept: string | undefined): readonly Rated[] {
  const first = options.find(({ model }) => model === kept);
  return first === undefined ? options : [first, ...options.filter((option) => option !== first)];
}

interface Account {
  readonly models: readonly string[];
  readonly options: readonly Rated[];
  readonly field: Field;
  readonly task: Estimate;
  readonly slack: number;
  /** The best chance of all that may serve. */
  readonly highest: number;
  readonly isAgentic: boolean;
  readonly isStuck: boolean;
  readonly kept: string | undefined;
}

function stageOf({ models, options, field, task, slack, highest, isAgentic, isStuck, kept }: Account): Stage {
  const [first] = options as [Rated];
  const allowed = options.reduce((a, b) => (b.chance > a.chance ? b : a));
  const isCapped = allowed.chance < highest - slack;
  return {
    type: "plugin",
    name: "jev-router",
    summary: first.effort === "none" ? first.model : `${first.model}, effort ${first.effort}`,
    data: {
      resolved_models: models,
      candidates: options.slice(0, mostShown).map((option) => candidateOf(option, highest)),
      reason: reasonOf(task, slack, isStuck, kept === first.model),
      pipeline: isAgentic ? "agentic" : "default",
      ...(field.ignoresLists && { list_fallback: "models_ignored" }),
      ...(isCapped && { list_tier_cap: tierOf(allowed, highest) ?? "low" }),
    },
  };
}

function candidateOf(option: Rated, highest: number) {
  const { model, effort, cost } = option;
  const tier = tierOf(option, highest);
  return { model, effort, ...(tier && { tier }), estimated_cost: Number.isFinite(cost) ? cost / 1e12 : null };
}

function reasonOf({ difficulty, task }: Estimate, slack: number, isStuck: boolean, isKept: boolean): string {
  const found = `difficulty ${difficulty.toFixed(1)} of 4, ${task}`;
  if (isKept) return `${found}: the session's model goes on`;
  return `${found}: the cheapest within ${slack} of the best${isStuck ? ", as the task has got stuck" : ""}`;
}
