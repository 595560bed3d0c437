/** Every plugin of a request, described once: its settings with their limits, and the message that carries them. */
import type { DescMessage } from "@bufbuild/protobuf";
import {
  AlignmentPluginSchema,
  AutoBetaRouterPluginSchema,
  AutoRouterPluginSchema,
  ContextCompressionPluginSchema,
  FileParserPluginSchema,
  FusionPluginSchema,
  JevRouterPluginSchema,
  ModerationPluginSchema,
  ParetoRouterPluginSchema,
  ResponseHealingPluginSchema,
  SwitchyardRouterPluginSchema,
  WebFetchPluginSchema,
  WebPluginSchema,
} from "../gen/sluice/inference/v1/turn_pb.ts";
import { isObject } from "../runtime/validation/fields.ts";
import {
  type ObjectRules,
  type Shape,
  array,
  boolean,
  child,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  tagged,
  word,
} from "../runtime/validation/shape.ts";
import { codePointLength } from "../runtime/validation/text.ts";
import { type Codec, type CodecRules, codec } from "./codec.ts";
import { innerTool } from "./service-tools.ts";
import { analysisModels, atLeastOne, domains, searchEngine, userLocation, xSearch } from "./tool-settings.ts";

const enabled = described(boolean, "false turns the plugin off for the request.");

export interface PluginContract {
  readonly shape: Shape;
  readonly descriptor: DescMessage;
  readonly codec: Codec<DescMessage>;
}

interface PluginRules extends ObjectRules {
  /** Settings that stand deeper in the JSON than in the message. */
  readonly paths?: CodecRules["paths"];
}

const plugin = (
  id: string,
  descriptor: DescMessage,
  fields: Readonly<Record<string, Shape>>,
  { paths, ...rules }: PluginRules = {},
): PluginContract => ({
  shape: object({ id: word(id), ...fields }, { ...rules, required: ["id", ...(rules.required ?? [])] }),
  descriptor,
  codec: codec(descriptor, paths && { paths }),
});

const maxPatternCharacters = 65_536;

/** Slugs, in which an asterisk stands for any characters or none. */
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

const rule = string({
  min: 1,
  max: 200,
  pattern: { form: /^[^\n\v\f\r\u0085\u2028\u2029]*$/, says: "must not contain line breaks" },
});

/** Every plugin, by id. */
export const pluginContracts: Readonly<Record<string, PluginContract>> = {
  alignment: plugin(
    "alignment",
    AlignmentPluginSchema,
    {
      rules: array(rule, { min: 1, max: 128, entry: "rule" }),
      mode: described(word("enforce", "audit"), "enforce when absent."),
      instruct: described(boolean, "Whether the model is told the rules; true when absent."),
      max_retries: described(integer({ min: 0, max: 3 }), "1 when absent."),
      threshold: described(number({ above: 0, max: 1 }), "0.7 when absent."),
    },
    { required: ["rules"], strict: true, description: "Evaluates every turn against rules." },
  ),
  "auto-router": plugin(
    "auto-router",
    AutoRouterPluginSchema,
    {
      ...autoRouter,
      pin_model: described(boolean, "Whether the model that the last message of the assistant names serves if it can."),
    },
    { description: "How the model service/auto is chosen; ignored for others." },
  ),
  "auto-beta-router": plugin("auto-beta-router", AutoBetaRouterPluginSchema, autoRouter, {
    description: "How the model service/auto-beta is chosen; ignored for others.",
  }),
  "context-compression": plugin(
    "context-compression",
    ContextCompressionPluginSchema,
    {
      enabled: described(
        boolean,
        "false turns it off where it would be on by itself, too: for windows of up to 8192 tokens.",
      ),
      engine: described(word("middle-out"), "middle-out when absent."),
    },
    { description: "Leaves out of an input what does not fit into the window of the model that is asked." },
  ),
  "file-parser": plugin(
    "file-parser",
    FileParserPluginSchema,
    {
      enabled,
      pdf: object({
        engine: described(
          word("native", "markdown", "ocr", "cloudflare-ai", "mistral-ocr", "pdf-text"),
          "native: as files; markdown: as text to every model, whether it takes files or not (cloudflare-ai and pdf-text mean the same). When absent, native where files are taken, else markdown. ocr and mistral-ocr are 400 where the service has no model for them.",
        ),
      }),
    },
    { paths: { pdf_engine: ["pdf", "engine"] }, description: "Tells models that take no files what files say." },
  ),
  fusion: plugin(
    "fusion",
    FusionPluginSchema,
    {
      enabled,
      analysis_models: analysisModels,
      model: described(string({ min: 1 }), "Slug of the model that compares the answers, and answers after that."),
      preset: described(
        word("general-high", "general-budget", "general-fast"),
        "Models that the operator has chosen, in the place of those that are not named; general-high when absent.",
      ),
      max_tool_calls: described(
        integer({ min: 1, max: 16 }),
        "Of each model of the panel and of the comparison; 4 when absent.",
      ),
      tools: described(
        array(innerTool, { max: 8, entry: "tool" }),
        "Tools of the service for all of them; web search and web fetch when absent.",
      ),
    },
    {
      description:
        "Who answers when the model service/fusion is asked for, or the tool service:fusion is called, whose own parameters count first; ignored otherwise.",
    },
  ),
  "jev-router": plugin(
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
    { strict: true, description: "How the model service/jev-router is chosen; ignored for others." },
  ),
  moderation: plugin(
    "moderation",
    ModerationPluginSchema,
    { enabled },
    {
      description:
        "Refuses what a moderation model of the house flags in what the user says, before any other reads it.",
    },
  ),
  "pareto-router": plugin("pareto-router", ParetoRouterPluginSchema, {
    enabled,
    max_price: number({ min: 0 }),
    min_coding_score: number({ min: 0, max: 1 }),
    price_source: word("prompt", "weighted_avg"),
  }),
  "response-healing": plugin(
    "response-healing",
    ResponseHealingPluginSchema,
    { enabled },
    {
      description:
        "Mends an answer without a stream that was asked for as JSON and is none; one that is right is not touched.",
    },
  ),
  "switchyard-router": plugin(
    "switchyard-router",
    SwitchyardRouterPluginSchema,
    {
      enabled,
      algorithm: described(
        word("capability", "stage", "auto", "random", "composite", "passthrough"),
        "capability when absent.",
      ),
    },
    { description: "How service/switchyard chooses between the models of the request; ignored for others." },
  ),
  web: plugin(
    "web",
    WebPluginSchema,
    {
      enabled,
      engine: searchEngine,
      max_results: described(integer({ min: 1, max: 25 }), "5 when absent."),
      max_uses: described(atLeastOne, "Searches of the provider's own search; this service searches once."),
      mode: described(string(), "Of engines that have several; ignored by the others."),
      search_prompt: described(string(), "Said to the model in the place of the instruction to cite."),
      include_domains: domains,
      exclude_domains: described(domains, "What is never given to the model."),
      user_location: nullable(userLocation),
      x_search: xSearch,
    },
    { description: "Searches the web for what the user said last; the variant `:online` of a model does the same." },
  ),
  "web-fetch": plugin(
    "web-fetch",
    WebFetchPluginSchema,
    {
      enabled,
      allowed_domains: domains,
      blocked_domains: described(domains, "What is never read."),
      max_content_tokens: described(atLeastOne, "Of a page, estimated; 20000 when absent."),
      max_uses: described(integer({ min: 1, max: 50 }), "Pages that are read; 5 when absent."),
    },
    { description: "Reads the pages whose URLs stand in what the user said." },
  ),
};

export const plugins = array(
  named(
    "Plugin",
    tagged(
      "id",
      Object.fromEntries(
        Object.entries(pluginContracts).map(([id, { shape, descriptor }]) => [id, named(descriptor.name, shape)]),
      ),
      {
        called: "plugin",
      },
    ),
  ),
  {
    // Two plugins of one id could contradict each other, and one of them would silently lose.
    also: (entries, path, problems) => {
      const before = new Set<unknown>();
      for (const [index, entry] of entries.entries()) {
        const id = isObject(entry) ? entry["id"] : undefined;
        if (before.has(id)) problems.add(child(path, index), `plugin ${String(id)} is given twice`);
        if (typeof id === "string" && Object.hasOwn(pluginContracts, id)) before.add(id);
      }
    },
  },
);
