/** Every plugin of a request, described once: its settings with their limits, its message, and its receipt fields. */
import {
  AlignmentPluginSchema,
  ContextCompressionPluginSchema,
  FileParserPluginSchema,
  FusionPluginSchema,
  ModerationPluginSchema,
  ResponseHealingPluginSchema,
  WebFetchPluginSchema,
  WebPluginSchema,
} from "../../gen/sluice/inference/v1/turn_pb.ts";
import { modes } from "../../lib/policy/guardrail-words.ts";
import {
  array,
  boolean,
  described,
  integer,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { type PluginContract, enabled, plugin, receiptFields, alignmentRule, describedAs } from "./plugin-rules.ts";
import {
  autoBetaRouterPlugin,
  autoRouterPlugin,
  jevRouterPlugin,
  paretoRouterPlugin,
  switchyardRouterPlugin,
} from "./router-plugins.ts";
import { innerTool } from "../tools/service-tools.ts";
import { analysisModels, atLeastOne, domains, searchEngine, userLocation, xSearch } from "../tools/tool-settings.ts";

/** All plugins by id. */
export const pluginContracts: Readonly<Record<string, PluginContract>> = {
  alignment: plugin(
    "alignment",
    AlignmentPluginSchema,
    {
      rules: array(alignmentRule, { min: 1, max: 128, entry: "rule" }),
      mode: described(word(...modes.all), "enforce when absent."),
      instruct: described(boolean, "Whether the rules are sent to the model; true when absent."),
      max_retries: described(integer({ min: 0, max: 3 }), "1 when absent."),
      threshold: described(number({ above: 0, max: 1 }), "0.7 when absent."),
    },
    { required: ["rules"], strict: true, description: "Evaluates every turn against rules." },
  ),
  "auto-router": autoRouterPlugin,
  "auto-beta-router": autoBetaRouterPlugin,
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
    {
      receipt: {
        engine: describedAs(string(), "middle-out"),
        input_type: describedAs(string(), "text, one message that is a string; else items"),
        original_count: describedAs(integer({ min: 0 }), "items of the input"),
        compressed_count: describedAs(integer({ min: 0 }), "items that the model was asked with"),
        est_before: describedAs(integer({ min: 0 }), "tokens before it, estimated"),
        est_after: describedAs(integer({ min: 0 }), "tokens after it, estimated"),
        model: describedAs(string(), "for whose window; each model that was asked has a stage of its own"),
      },
      description: "Leaves out of an input what does not fit into the window of the model that is asked.",
    },
  ),
  "file-parser": plugin(
    "file-parser",
    FileParserPluginSchema,
    {
      enabled: described(boolean, "false: files are sent as files only. Files are parsed without the plugin, too."),
      pdf: object({
        engine: described(
          word("native", "markdown", "ocr", "cloudflare-ai", "mistral-ocr", "pdf-text"),
          "native: as files; markdown: as text to every model, whether it takes files or not (cloudflare-ai and pdf-text mean the same). When absent, native where files are taken, else markdown. ocr (mistral-ocr means the same): as text that a model reads from the pages, to every model; 400 where the service has no model for it. When absent, PDFs without text are read so, too.",
        ),
      }),
    },
    {
      paths: { pdf_engine: ["pdf", "engine"] },
      description: "Sends models that take no files the text of PDFs, office files and texts.",
    },
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
        "Maximum for each model of the panel and for the comparison; 4 by default.",
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
  "jev-router": jevRouterPlugin,
  moderation: plugin(
    "moderation",
    ModerationPluginSchema,
    { enabled },
    {
      description:
        "Refuses a request whose user messages are flagged by the configured moderation model, before any other model reads it.",
    },
  ),
  "pareto-router": paretoRouterPlugin,
  "response-healing": plugin(
    "response-healing",
    ResponseHealingPluginSchema,
    { enabled },
    {
      receipt: {
        improved: describedAs(boolean, "whether the answer was mended"),
        original_length: describedAs(integer({ min: 0 }), "characters of the answer as the model gave it"),
        healed_length: describedAs(integer({ min: 0 }), "characters of the answer as it is delivered"),
        how: describedAs(
          string(),
          "extracted, repaired, unwrapped, opened or unescaped; else why it was left: truncated, unfit, unrepairable, too_long or schema",
        ),
      },
      description:
        "Mends an answer without a stream that was asked for as JSON and is none; one that is right is not touched.",
    },
  ),
  "switchyard-router": switchyardRouterPlugin,
  web: plugin(
    "web",
    WebPluginSchema,
    {
      enabled,
      engine: searchEngine,
      max_results: described(integer({ min: 1, max: 25 }), "5 when absent."),
      max_uses: described(atLeastOne, "Searches of the provider's own search; this service searches once."),
      mode: described(string(), "Search mode of engines that have several; others ignore it."),
      search_prompt: described(string(), "Said to the model in the place of the instruction to cite."),
      include_domains: domains,
      exclude_domains: described(domains, "What is never given to the model."),
      user_location: nullable(userLocation),
      x_search: xSearch,
    },
    { description: "Searches the web for the last user message; the variant `:online` of a model does the same." },
  ),
  "web-fetch": plugin(
    "web-fetch",
    WebFetchPluginSchema,
    {
      enabled,
      allowed_domains: domains,
      blocked_domains: described(domains, "What is never read."),
      max_content_tokens: described(atLeastOne, "Maximum tokens of a page, estimated; 20000 by default."),
      max_uses: described(integer({ min: 1, max: 50 }), "Pages that are read; 5 when absent."),
      fetch_prompt: described(string(), "Said to the model before the pages, such as what to look for in them."),
    },
    { description: "Reads pages whose URLs stand in user messages." },
  ),
};

/** Fields of `data` in the stages of all plugins in `service_metadata`. */
export const pluginReceiptFields = receiptFields(pluginContracts);
