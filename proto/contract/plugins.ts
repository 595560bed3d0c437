/** Plugins of a request, by id, with the limits of their settings. */
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
import { innerTool } from "./service-tools.ts";
import { analysisModels, atLeastOne, domains, userLocation, xSearch } from "./tool-settings.ts";

const enabled = described(boolean, "false turns the plugin off for the request.");

const plugin = (id: string, fields: Readonly<Record<string, Shape>>, rules: ObjectRules = {}): Shape =>
  object({ id: word(id), ...fields }, { ...rules, required: ["id", ...(rules.required ?? [])] });

const maxPatternCharacters = 65_536;

/** Slugs, or a provider's prefix followed by an asterisk. */
const patterns = array(string({ max: 1024 }), {
  max: 1024,
  entry: "pattern",
  also: (entries, path, problems) => {
    let characters = 0;
    for (const entry of entries) if (typeof entry === "string") characters += entry.length;
    if (characters > maxPatternCharacters) problems.add(path, `at most ${maxPatternCharacters} characters in total`);
  },
});

const costTiers = ["low", "medium", "high", "xhigh", "max"] as const;

const autoRouter = {
  enabled,
  allowed_models: described(patterns, "All ranked models when absent; at most 65536 characters in total."),
  excluded_models: described(patterns, "Counts before allowed_models; at most 65536 characters in total."),
  cost_tier: described(word(...costTiers), "Band of cost percentiles; counts before cost_quality_tradeoff."),
  cost_quality_tradeoff: described(integer({ min: 0, max: 10 }), "Deprecated; 10 is cheapest."),
};

const rule = string({
  min: 1,
  max: 200,
  pattern: { form: /^[^\r\n\u2028\u2029]*$/, says: "must not contain line breaks" },
});

const kinds: Readonly<Record<string, Shape>> = {
  alignment: plugin(
    "alignment",
    {
      rules: array(rule, { min: 1, max: 128, entry: "rule" }),
      mode: described(word("enforce", "audit"), "enforce when absent."),
      instruct: described(boolean, "Whether the model is told the rules; true when absent."),
      max_retries: described(integer({ min: 0, max: 3 }), "1 when absent."),
      threshold: described(number({ above: 0, max: 1 }), "0.7 when absent."),
    },
    { required: ["rules"], strict: true, description: "Evaluates every turn against rules." },
  ),
  "auto-router": plugin("auto-router", { ...autoRouter, pin_model: boolean }),
  "auto-beta-router": plugin("auto-beta-router", autoRouter),
  "context-compression": plugin("context-compression", { enabled, engine: word("middle-out") }),
  "file-parser": plugin("file-parser", {
    enabled,
    pdf: object({ engine: word("markdown", "ocr", "native", "cloudflare-ai", "mistral-ocr", "pdf-text") }),
  }),
  fusion: plugin("fusion", {
    enabled,
    analysis_models: analysisModels,
    model: string({ min: 1 }),
    preset: word("general-high", "general-budget", "general-fast"),
    max_tool_calls: described(integer({ min: 1, max: 16 }), "4 when absent."),
    tools: array(innerTool, { max: 8, entry: "tool" }),
  }),
  "jev-router": plugin(
    "jev-router",
    {
      cost_tier: word("low", "medium", "high"),
      models: patterns,
      allowed_models: patterns,
      excluded_models: patterns,
    },
    { strict: true },
  ),
  moderation: plugin("moderation", { enabled }),
  "pareto-router": plugin("pareto-router", {
    enabled,
    max_price: number({ min: 0 }),
    min_coding_score: number({ min: 0, max: 1 }),
    price_source: word("prompt", "weighted_avg"),
  }),
  "response-healing": plugin("response-healing", { enabled }),
  "switchyard-router": plugin("switchyard-router", {
    enabled,
    algorithm: word("capability", "stage", "auto", "random", "composite", "passthrough"),
  }),
  web: plugin("web", {
    enabled,
    engine: word("native", "exa", "firecrawl", "parallel", "perplexity"),
    max_results: described(integer({ min: 1, max: 25 }), "5 when absent."),
    max_uses: atLeastOne,
    mode: string(),
    search_prompt: string(),
    include_domains: domains,
    exclude_domains: domains,
    user_location: nullable(userLocation),
    x_search: xSearch,
  }),
  "web-fetch": plugin("web-fetch", {
    enabled,
    allowed_domains: domains,
    blocked_domains: domains,
    max_content_tokens: atLeastOne,
    max_uses: atLeastOne,
  }),
};

export const plugins = array(
  named(
    "Plugin",
    tagged("id", Object.fromEntries(Object.entries(kinds).map(([id, shape]) => [id, named(pluginName(id), shape)])), {
      called: "plugin",
    }),
  ),
  {
    also: (entries, path, problems) => {
      const aligned = entries.flatMap((entry, index) =>
        isObject(entry) && entry["id"] === "alignment" ? [index] : [],
      );
      for (const index of aligned.slice(1)) problems.add(child(path, index), "plugin alignment is given twice");
    },
  },
);

function pluginName(id: string): string {
  return `${id.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Plugin`;
}
