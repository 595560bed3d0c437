/**
 * The plugin `auto-router`, for `service/auto`: chooses the cheapest model that is good enough for the task and its
 * difficulty, or the best model of the requested cost band, and two fallbacks. The task is guessed in this process;
 * after an unsure guess, a classifier model is called, if configured.
 */
import type { AutoBetaRouterPlugin, AutoRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Variant } from "../../../models/routing/catalog.ts";
import { estimateDifficulty } from "../../../models/routing/choose/difficulty.ts";
import type { RouterFeature } from "../router-slugs.ts";
import { maxModels, maxListedModels, withStickyFirst } from "../../../models/routing/choose/model-aliases.ts";
import type { Router } from "../../../models/routing/choose/router.ts";
import type { InputItem, Plugins, TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import type { Stage } from "../../../turn/trace.ts";
import type { CostTier } from "./bands.ts";
import { type AutoChoice, type AutoOptions, chooseByTask } from "./choice.ts";
import { type ScoredModels, findScoredModels } from "./field.ts";
import { LateChoices, type OpenChoice, type ModelChoice } from "./late-choice.ts";
import type { TaskReading } from "./tasks/classifier.ts";
import { isConfident, guessTaskLocally } from "./tasks/local.ts";
import type { TaskGuess } from "./tasks/model.ts";
import type { CallingFeature } from "../../kit.ts";
import { autoSlug } from "../../slugs.ts";
import { applies } from "../../applies.ts";

type Settings = AutoRouterPlugin | AutoBetaRouterPlugin;

/** An auto router: its slug, the id of its plugin, and where a request has its settings. */
interface AutoKind {
  readonly slug: string;
  readonly id: string;
  readonly settingsOf: (plugins: Plugins) => Settings | undefined;
}

/** Choices made by an unsure guess, which the model of the role `router_classifier` may change. */
const lateChoices = new LateChoices("classifier");

export const chooseModels =
  (kind: AutoKind): RouterFeature["choose"] =>
  (router) =>
  (request, scope, variant) => {
    const guessed = guessTaskLocally(request);
    const { difficulty } = estimateDifficulty(request);
    const found: Found = { task: guessed.task, difficulty, notes: { classifier: "local" }, guessed };
    const choosing: Choosing = { kind, router, variant, session: request };
    const chosen = choose(choosing, found, request, scope);
    const skipped = isConfident(guessed) ? "sure" : chosen.settledBy;
    const { stage } = chosen;
    scope.trace.strategy = "auto";
    scope.trace.stages.push(skipped ? { ...stage, data: { ...stage.data, classifier_skipped: skipped } } : stage);
    if (skipped) remember(choosing, chosen, scope);
    else lateChoices.keep(toOpenChoice(choosing, found, chosen, scope), scope);
    return chosen.models;
  };

/** Feature that chooses again after the input guardrails, by a classifier model's estimate of the task. */
export const autoOrder: CallingFeature = {
  id: "auto-router",
  applies: applies.autoOrder,
  layer: (kit) => lateChoices.layer(kit, kit.roles.router_classifier),
  dryRun: ({ roles }) => lateChoices.notRun(roles.router_classifier),
};

/** A guess of task and difficulty, with its source for the receipt. */
interface Found extends TaskReading {
  readonly guessed: TaskGuess;
  readonly notes: Readonly<Record<string, unknown>>;
}

interface Choosing {
  readonly kind: AutoKind;
  readonly router: Router;
  readonly variant: Variant | undefined;
  /** The client's original request, which determines the session. */
  readonly session: TurnRequest;
}

interface Chosen extends ModelChoice {
  readonly isPinned: boolean;
  /** Why another guess of the task would not change the chosen model; undefined when it could. */
  readonly settledBy: "pin" | "session" | "one_model" | undefined;
}

/** Stores the model for the session. A pinned model is not stored: it is the client's choice. */
function remember({ kind, router, session }: Choosing, { models: [first], isPinned }: Chosen, scope: Scope): void {
  if (first !== undefined && !isPinned) router.rememberModel(session, scope, kind.slug, first);
}

/** Chooses the models. @throws Fault when no model can serve the request */
function choose(
  { kind, router, variant, session }: Choosing,
  found: Found,
  request: TurnRequest,
  scope: Scope,
): Chosen {
  const { slug: own, id, settingsOf } = kind;
  const settings = request.plugins && settingsOf(request.plugins);
  const pin = pins(settings) ? lastToAnswer(request.input) : undefined;
  const wanted = {
    slug: own,
    allowed: settings?.allowedModels ?? [],
    excluded: settings?.excludedModels ?? [],
    variant,
    task: found.task,
    pin,
  };
  const field = findScoredModels(router, request, scope, wanted);
  const choice = chooseByTask(field.candidates, field.known, wishOf(settings, found.difficulty));
  const isPinned = field.pinned !== undefined;
  const { models, isKept } = field.pinned
    ? { models: [field.pinned, ...choice.models.filter((model) => model !== field.pinned)], isKept: true }
    : withStickyFirst(choice.models, router.findStickyModel(session, scope, own));
  const slugs = models.slice(0, maxModels);
  const stage = stageOf(id, slugs, { choice, found, field, requestsPin: pin !== undefined });
  const settledBy = isPinned ? "pin" : isKept ? "session" : choice.models.length < 2 ? "one_model" : undefined;
  return { models: slugs, stage, isPinned, settledBy };
}

function toOpenChoice(choosing: Choosing, { guessed }: Found, local: Chosen, turnScope: Scope): OpenChoice {
  const { variant, session } = choosing;
  return {
    ...local,
    suffix: variant === undefined ? "" : `:${variant}`,
    requestedModels: session.models,
    settle: () => remember(choosing, local, turnScope),
    again({ task, difficulty }, request, scope) {
      const notes = { local_task_type: guessed.task };
      const late = choose(choosing, { task, difficulty: difficulty * readingScale, notes, guessed }, request, scope);
      remember(choosing, late, scope);
      return late;
    },
  };
}

/**
 * Factor for a classifier model's difficulty. Such models use the whole scale from 0 to 4; the local estimate hardly
 * reaches the upper half, and gives a one-line proof 1.2. Half of a model's value fits the scale to which the tolerance
 * was tuned.
 */
const readingScale = 0.5;

const slug = autoSlug;

export const autoRouter: RouterFeature = {
  id: "auto-router",
  slug,
  choose: chooseModels({ slug, id: "auto-router", settingsOf: ({ autoRouter: settings }) => settings }),
};

const pins = (settings: Settings | undefined): boolean =>
  settings?.$typeName === "sluice.inference.v1.AutoRouterPlugin" && settings.pinModel;

/** The model that gave the last assistant message, if the client included its name. */
function lastToAnswer(input: readonly InputItem[]): string | undefined {
  const last = input.findLast(({ type, role }) => type === "message" && role === "assistant");
  return typeof last?.["model"] === "string" ? last["model"] : undefined;
}

const wishOf = (settings: Settings | undefined, difficulty: number): AutoOptions => ({
  difficulty,
  ...(settings && settings.costTier !== "" && { tier: settings.costTier as CostTier }),
  ...(settings?.costQualityTradeoff !== undefined && { costQualityTradeoff: settings.costQualityTradeoff }),
});

interface Decided {
  readonly choice: AutoChoice;
  readonly found: Found;
  /** The models among which the router chose. */
  readonly field: ScoredModels;
  readonly requestsPin: boolean;
}

function stageOf(name: string, slugs: readonly string[], { choice, found, field, requestsPin }: Decided): Stage {
  const { models, tier, isNearest } = choice;
  const { task, difficulty, guessed, notes } = found;
  return {
    type: "plugin",
    name,
    summary: `${slugs[0]} for ${task}${tier ? `, of the ${tier} tier` : ""}`,
    data: {
      task_type: task,
      ...notes,
      confidence: Math.round(guessed.confidence * 100) / 100,
      difficulty: Math.round(difficulty * 100) / 100,
      ...(tier && { cost_tier: tier }),
      ...(isNearest && { band_fallback: true }),
      ...(requestsPin && (field.pinned ? { pinned: field.pinned } : { pin_ignored: true })),
      ranking: field.isLearned ? "learned" : "prior",
      candidates: models.slice(0, maxListedModels),
    },
  };
}
