/** Server tools: the service runs them, and all their settings are in `parameters`. */
import {
  type ObjectShape,
  type Shape,
  array,
  boolean,
  described,
  integer,
  map,
  nullable,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { cacheControl } from "../request/caching.ts";
import { openObject } from "../items/parts.ts";
import {
  analysisModels,
  atLeastOne,
  domains,
  environment,
  maxCompletionTokens,
  maxResults,
  neverDeferred,
  searchContextSize,
  searchEngine,
  temperature,
  timezone,
  toolReasoning,
  userLocation,
  xSearch,
} from "./tool-settings.ts";

const tool = (
  type: string,
  description: string,
  parameters?: Shape,
  more: Readonly<Record<string, Shape>> = {},
): ObjectShape =>
  object({ type: word(type), ...(parameters && { parameters }), ...more }, { required: ["type"], description });

/** Name of a tool. Among several tools of the same type at most one is unnamed. */
const instanceName = string({
  pattern: { form: /^[A-Za-z0-9 _-]{1,64}$/, message: "1 to 64 letters, digits, spaces, _ and -" },
});

const ofModel = {
  name: described(instanceName, "Name by which the model tells several tools of this kind apart."),
  model: described(string({ min: 1 }), "Slug of the model."),
  instructions: string(),
  max_completion_tokens: maxCompletionTokens,
  reasoning: toolReasoning,
  temperature,
};

const engine = word("auto", "native", "service");

const webSearch = object({
  engine: searchEngine,
  max_results: described(maxResults, "Results of one search; 5 when absent."),
  max_uses: atLeastOne,
  max_total_results: described(atLeastOne, "Results of all searches together; 50 when absent."),
  search_context_size: described(searchContextSize, "Characters of a result: 5,000, 15,000 or 30,000."),
  max_characters: described(integer({ min: 1, max: 100_000 }), "Characters of a result; counts before the size."),
  allowed_domains: domains,
  excluded_domains: domains,
  user_location: userLocation,
  mode: string(),
  x_search: xSearch,
});

const webFetch = object({
  engine: described(
    word("auto", "native", "service", "exa", "firecrawl", "parallel"),
    "auto when absent: the provider's own where it has one, else this service, which is service by name; the others read by the key of their vendor.",
  ),
  max_uses: atLeastOne,
  max_content_tokens: atLeastOne,
  allowed_domains: domains,
  blocked_domains: domains,
});

const imageGeneration = object(
  {
    model: string({ min: 1 }),
    quality: string(),
    size: string(),
    aspect_ratio: string(),
    background: string(),
    output_format: string(),
    output_compression: integer({ min: 0, max: 100 }),
    moderation: string(),
  },
  { description: "Further fields reach the image model as they are." },
);

const advisor = object({ ...ofModel, forward_transcript: boolean, stream: boolean });

const parameterValues = map({
  check: (value, path, problems) => {
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      problems.add(path, "must be a string, a number, true, false, null or an array");
    }
  },
  schema: () => ({ type: ["string", "number", "boolean", "null", "array"], items: {} }),
});

/** Builds a tool with its parameters. */
export const innerTool = object({ type: string({ min: 1 }), parameters: parameterValues }, { required: ["type"] });

const fusion = object({
  analysis_models: analysisModels,
  model: string({ min: 1 }),
  max_tool_calls: described(integer({ min: 1, max: 16 }), "4 when absent."),
  max_completion_tokens: described(atLeastOne, "16000 when absent."),
  reasoning: toolReasoning,
  temperature,
  tools: array(innerTool, { max: 8, entry: "tool" }),
  cache_control: cacheControl,
});

const sleepAfter = described(
  integer({ min: 1, max: 2_592_000 }),
  "Seconds without a run after which the container is removed; 900 when absent.",
);

const shell = object({
  engine: word("auto", "service"),
  environment,
  sleep_after_seconds: sleepAfter,
});

const bash = object({ engine, environment });

const plainTools = {
  "service:web_search": tool("service:web_search", "Searches the web.", webSearch),
  "service:web_fetch": tool("service:web_fetch", "Reads pages.", webFetch, {
    anthropic_type: described(
      string({ pattern: { form: /^web_fetch_\d{8}$/, message: "a dated type of the tool" } }),
      "The version of the tool at Anthropic, such as web_fetch_20250910, by which Anthropic runs it where it answers.",
    ),
    citations: described(object({ enabled: nullable(boolean) }), "Whether Anthropic cites places of the pages."),
  }),
  "service:datetime": tool("service:datetime", "Tells the time.", object({ timezone })),
  "service:image_generation": tool("service:image_generation", "Makes images.", imageGeneration),
  "service:advisor": tool("service:advisor", "Asks another model for advice.", advisor),
  "service:files": tool("service:files", "Lists, reads and searches the files of the request.", openObject),
  "service:fusion": tool("service:fusion", "Lets several models answer and compares them.", fusion),
  "service:search_models": tool(
    "service:search_models",
    "Searches the catalogue.",
    object({ max_results: described(integer({ min: 1, max: 20 }), "5 when absent.") }),
  ),
  "service:tool_search": tool(
    "service:tool_search",
    "Finds tools that are held back.",
    object({ max_results: described(integer({ min: 1, max: 50 }), "5 when absent.") }),
    {
      defer_loading: neverDeferred,
      anthropic_type: described(
        string({
          pattern: { form: /^tool_search_tool_(?:regex|bm25)(?:_\d{8})?$/, message: "a type of the tool at Anthropic" },
        }),
        "The tool at Anthropic, such as tool_search_tool_bm25_20251119, by which Anthropic searches where it answers.",
      ),
    },
  ),
  "service:apply_patch": tool("service:apply_patch", "Changes files.", object({ engine })),
  "service:shell": tool("service:shell", "Runs commands in a container of the operator's sandbox.", shell),
  "service:bash": tool("service:bash", "Runs a command in a container of the operator's sandbox.", bash),
  "service:code_interpreter": tool(
    "service:code_interpreter",
    "Runs Python in a container of the operator's sandbox.",
    object({ environment, sleep_after_seconds: sleepAfter }),
  ),
} as const;

/** A subagent has neither subagents nor functions: no client could answer their calls. */
const subagent = object({
  ...ofModel,
  tools: array(
    tagged("type", plainTools, {
      elsewhere: ["function", "custom", "namespace", "service:subagent"],
      called: "service tool",
    }),
  ),
  max_tool_calls: integer({ min: 1, max: 25 }),
  inherit_functions: boolean,
  inherited_function_names: array(string({ min: 1 })),
});

/** Server tools by type, in the neutral spelling. */
export const serviceTools: Readonly<Record<string, ObjectShape>> = {
  ...plainTools,
  "service:subagent": tool("service:subagent", "Gives a task to another model.", subagent),
};

/** Server tools run by the service itself; every other type needs a provider that runs it. */
export const builtServerTools = [
  "service:datetime",
  "service:search_models",
  "service:tool_search",
  "service:web_search",
  "web_search",
  "service:web_fetch",
  "service:fusion",
  "service:advisor",
  "service:subagent",
  "service:image_generation",
  "image_generation",
  "service:files",
  "service:bash",
  "service:shell",
  "shell",
  "service:code_interpreter",
  "code_interpreter",
  "mcp",
  "file_search",
] as const;
