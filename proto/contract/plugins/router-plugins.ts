/**
 * The plugins that choose the model of a request: their settings with limits, and the details of a choice in the
 * receipt.
 */
import {
  AutoBetaRouterPluginSchema,
  AutoRouterPluginSchema,
  JevRouterPluginSchema,
  ParetoRouterPluginSchema,
  SwitchyardRouterPluginSchema,
} from "../../gen/sluice/inference/v1/turn_pb.ts";
import {
  type Shape,
  array,
  boolean,
  constant,
  described,
  integer,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { codePointLength } from "../../lib/validation/text.ts";
import { type DescribedShape, enabled, plugin, describedAs } from "./plugin-rules.ts";

const maxPatternCharacters = 65_536;

/** Patterns of slugs; an asterisk stands for any characters or none. */
const patterns = array(string({ max: 1024 }), {
  max: 1024,
  entry: "pattern",
  also: (entries, path, problems) => {
    let characters = 0;
    for (const entry of entries) if (typeof entry === "string") characters += codePointLength(entry);
    if (characters > maxPatternCharacters) problems.add(path, `at most ${maxPatternCharacters} characters in total`);
  },
});

const costTiers = ["low", "medium", "high", "xhigh", "max"] as const;

const autoRouter = {
  enabled,
  allowed_models: described(
    patterns,
    "All models that are known for the task when absent; at most 65536 characters in total.",
  ),
  excluded_models: described(patterns, "Counts before allowed_models; at most 65536 characters in total."),
  cost_tier: described(word(...costTiers), "Band of cost percentiles; counts before cost_quality_tradeoff."),
  cost_quality_tradeoff: described(integer({ min: 0, max: 10 }), "Deprecated; 10 is cheapest, 9 when absent."),
};

const slug = string();
const option = object(
  {
    model: described(string(), "Slug of the model."),
    effort: described(string(), "Reasoning effort."),
    tier: described(string(), "high, medium or low: how near to the best it is."),
    estimated_cost: described(nullable(number()), "In US dollars; null when no price is known."),
  },
  { required: ["model", "effort", "estimated_cost"] },
);

/** A candidate model of a router: its slug, or an object with criteria for the choice. */
const candidate: Shape = {
  check: (value, path, problems) => (typeof value === "string" ? slug : option).check(value, path, problems),
  schema: (components) => ({ anyOf: [slug.schema(components), option.schema(components)] }),
};

const candidates = (text: string): DescribedShape => describedAs(array(candidate), text);

const autoRouterReceipt = {
  task_type: describedAs(string(), "the kind of task that the request was taken for"),
  classifier: describedAs(string(), "the source of the guess: local"),
  classifier_skipped: describedAs(
    word("sure", "pin", "session", "one_model", "not_configured"),
    "why no model was asked for the task: the guess is sure; pin_model or the session has its model; one model alone can serve, or costs what is wished; no router_classifier is configured",
  ),
  confidence: describedAs(number({ min: 0, max: 1 }), "how sure the guess is"),
  difficulty: describedAs(
    number({ min: 0, max: 4 }),
    "how hard the request seems, from 0, small talk, to 4, work for an expert",
  ),
  cost_tier: describedAs(string(), "the tier that the models are of"),
  band_fallback: describedAs(constant(true), "set when no model fits the requested cost: the nearest ones were taken"),
  ranking: describedAs(
    string(),
    "learned when what keys pay for models decides their order, prior when the scores alone do",
  ),
  candidates: candidates("the best models, in order"),
};

export const autoRouterPlugin = plugin(
  "auto-router",
  AutoRouterPluginSchema,
  {
    ...autoRouter,
    pin_model: described(boolean, "Whether the model that the last message of the assistant names serves if it can."),
  },
  {
    receipt: {
      ...autoRouterReceipt,
      pinned: describedAs(string(), "the model that answered last and shall again"),
      pin_ignored: describedAs(constant(true), "the model that answered last may not, or cannot, again"),
    },
    description: "How the model service/auto is chosen; ignored for others.",
  },
);

export const autoBetaRouterPlugin = plugin("auto-beta-router", AutoBetaRouterPluginSchema, autoRouter, {
  receipt: autoRouterReceipt,
  description: "How the model service/auto-beta is chosen; ignored for others.",
});

export const jevRouterPlugin = plugin(
  "jev-router",
  JevRouterPluginSchema,
  {
    cost_tier: described(
      word("low", "medium", "high"),
      "How near to the best the model must be, high the nearest; between low and medium when absent.",
    ),
    models: described(patterns, "Together with allowed_models; ignored where none of both matches."),
    allowed_models: patterns,
    excluded_models: described(patterns, "Counts before models and allowed_models."),
  },
  {
    receipt: {
      candidates: candidates(
        "the best models, in order, each with effort, tier (how near to the best it is) and estimated cost",
      ),
      resolved_models: describedAs(array(string()), "models in the order in which they are asked"),
      reason: describedAs(string(), "what the choice rests on"),
      pipeline: describedAs(string(), "agentic where there are tools, else default"),
      list_fallback: describedAs(string(), "set to models_ignored when the lists of the request match no model"),
      list_tier_cap: describedAs(
        string(),
        "how near to the best the lists of the request let it come, where that is not near enough",
      ),
    },
    strict: true,
    description: "How the model service/jev-router is chosen; ignored for others.",
  },
);

export const paretoRouterPlugin = plugin(
  "pareto-router",
  ParetoRouterPluginSchema,
  {
    enabled,
    max_price: number({ min: 0 }),
    min_coding_score: number({ min: 0, max: 1 }),
    price_source: word("prompt", "weighted_avg"),
  },
  {
    receipt: {
      candidates: candidates("the best models, in order"),
      tier: describedAs(string(), "high, medium or low"),
      frontier_size: describedAs(integer({ min: 0 }), "models that no other one beats in score and price"),
      price_source: describedAs(string(), "the price that was compared: prompt or weighted_avg"),
      prompt_share: describedAs(
        number({ min: 0, max: 1 }),
        "of weighted_avg: the measured share of prompts among all tokens",
      ),
    },
  },
);

export const switchyardRouterPlugin = plugin(
  "switchyard-router",
  SwitchyardRouterPluginSchema,
  {
    enabled,
    algorithm: described(
      word("capability", "stage", "auto", "random", "composite", "passthrough"),
      "capability when absent.",
    ),
  },
  {
    receipt: {
      resolved_to: describedAs(string(), "the model that is asked first"),
      fallback_models: describedAs(array(string()), "the models behind it"),
      strategy: describedAs(string(), "the algorithm"),
      tier: describedAs(string(), "efficient or capable"),
      score: describedAs(number(), "how a task with tools is going; above 0 the dear model is called for"),
      judge: describedAs(string(), "the model that forecasts, local, or not_run in a dry run"),
      judge_failure: describedAs(
        string(),
        "error, malformed_answer, time_limit or data_policy; then the dear model is asked",
      ),
      p_solve: describedAs(number({ min: 0, max: 1 }), "how likely it is that the cheap model solves the task"),
      p_solve_capable: describedAs(
        number({ min: 0, max: 1 }),
        "the same of the dear model, if both have scores and no judge is asked",
      ),
    },
    description: "How service/switchyard chooses between the models of the request; ignored for others.",
  },
);
