/**
 * `service/auto` and `service/auto-beta`: a model of the catalogue, the best at the task for the cost that is wished. Two more stand behind it for when it
 * fails.
 */
import type { AutoBetaRouterPlugin, AutoRouterPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Router } from "../../routing/router.ts";
import { type StandIn, mostModels, mostShown, stayed } from "../../routing/stand-ins.ts";
import type { InputItem, Plugins } from "../../turn/request.ts";
import type { Stage } from "../../turn/scope.ts";
import type { CostTier } from "./bands.ts";
import { type Choice, type Wish, choose } from "./choice.ts";
import { type Field, fieldOf } from "./field.ts";
import { localGuess } from "./tasks/local.ts";
import type { Guess } from "./tasks/model.ts";

type Settings = AutoRouterPlugin | AutoBetaRouterPlugin;

/** The two differ in what of a request is theirs. */
interface Kind {
  readonly slug: string;
  /** Id of the plugin. */
  readonly name: string;
  settingsOf(plugins: Plugins): Settings | undefined;
}

const kinds: readonly Kind[] = [
  { slug: "service/auto", name: "auto-router", settingsOf: ({ autoRouter }) => autoRouter },
  { slug: "service/auto-beta", name: "auto-beta-router", settingsOf: ({ autoBetaRouter }) => autoBetaRouter },
];

export const autoRouters = (router: Router): readonly StandIn[] =>
  kinds.map((kind) => ({
    slug: kind.slug,
    choose(request, scope, variant) {
      const settings = request.plugins && kind.settingsOf(request.plugins);
      const guessed = localGuess(request);
      const pin = pins(settings) ? lastToAnswer(request.input) : undefined;
      const wanted = {
        slug: kind.slug,
        allowed: settings?.allowedModels ?? [],
        excluded: settings?.excludedModels ?? [],
        variant,
        task: guessed.task,
        pin,
      };
      const field = fieldOf(router, request, scope, wanted);
      const choice = choose(field.candidates, field.known, wishOf(settings));
      const models = field.pinned
        ? [field.pinned, ...choice.models.filter((model) => model !== field.pinned)]
        : stayed(choice.models, kind.slug, router, request, scope);
      const slugs = models.slice(0, mostModels);
      scope.trace.strategy = "auto";
      scope.trace.stages.push(
        stageOf(kind.name, slugs, { choice, guessed, pinning: pin === undefined ? undefined : field }),
      );
      return slugs;
    },
  }));

const pins = (settings: Settings | undefined): boolean =>
  settings?.$typeName === "sluice.inference.v1.AutoRouterPlugin" && settings.pinModel;

/** Who the last message of an assistant is of, where the client has noted it. */
function lastToAnswer(input: readonly InputItem[]): string | undefined {
  const last = input.findLast(({ type, role }) => type === "message" && role === "assistant");
  return typeof last?.["model"] === "string" ? last["model"] : undefined;
}

const wishOf = (settings: Settings | undefined): Wish => ({
  ...(settings && settings.costTier !== "" && { tier: settings.costTier as CostTier }),
  ...(settings?.costQualityTradeoff !== undefined && { costQualityTradeoff: settings.costQualityTradeoff }),
});

interface Decided {
  readonly choice: Choice;
  readonly guessed: Guess;
  /** Where a model was to be pinned. */
  readonly pinning: Field | undefined;
}

function stageOf(name: string, slugs: readonly string[], { choice, guessed, pinning }: Decided): Stage {
  const { models, tier, isNearest } = choice;
  return {
    type: "plugin",
    name,
    summary: `${slugs[0]} for ${guessed.task}${tier ? `, of the ${tier} tier` : ""}`,
    data: {
      task_type: guessed.task,
      classifier: "local",
      confidence: Math.round(guessed.confidence * 100) / 100,
      ...(tier && { cost_tier: tier }),
      ...(isNearest && { band_fallback: true }),
      ...(pinning && (pinning.pinned ? { pinned: pinning.pinned } : { pin_ignored: true })),
      candidates: models.slice(0, mostShown),
    },
  };
}
