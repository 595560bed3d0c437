/** Object settings of a request: reasoning, format of the answer, stored prompts, telemetry, stop conditions. */
import {
  type Shape,
  anyValue,
  array,
  boolean,
  described,
  integer,
  map,
  named,
  nullable,
  number,
  object,
  oneOrMore,
  string,
  stringOr,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { promptVariable } from "../items/content.ts";
import { openObject } from "../items/parts.ts";

export const effort = word("max", "xhigh", "high", "medium", "low", "minimal", "none");

export const reasoning = named(
  "Reasoning",
  object(
    {
      effort: described(nullable(effort), "How much thought; models that know fewer levels take the nearest."),
      summary: described(
        nullable(word("auto", "concise", "detailed", "omitted", "updates")),
        "Whether and how to summarize the reasoning; omitted keeps its text out of the answer where the provider can, updates all but notes between calls.",
      ),
      enabled: described(
        nullable(boolean),
        "false means effort none; true means medium unless effort or max_tokens is given.",
      ),
      max_tokens: described(nullable(integer({ min: 1 })), "Budget for reasoning, the alternative to effort."),
      context: described(
        nullable(word("auto", "all_turns", "current_turn")),
        "Which turns' reasoning the model is shown again.",
      ),
      mode: nullable(word("standard", "pro")),
    },
    { description: "How much the model is to think." },
  ),
);

/** Names of formats and functions are parts of providers' URLs and grammars. */
const formatName = string({
  pattern: { form: /^[A-Za-z0-9_-]{1,64}$/, message: "1 to 64 letters, digits, _ and -" },
});

export const textFormat = named(
  "TextFormat",
  tagged(
    "type",
    {
      text: object({ type: word("text") }, { required: ["type"], description: "Plain text." }),
      json_object: object({ type: word("json_object") }, { required: ["type"], description: "Any JSON object." }),
      json_schema: object(
        {
          type: word("json_schema"),
          name: formatName,
          schema: described(openObject, "JSON Schema; it reaches the provider byte for byte."),
          description: nullable(string()),
          strict: described(nullable(boolean), "Whether the answer must follow the schema exactly."),
        },
        { required: ["type", "name", "schema"], description: "JSON that follows a schema." },
      ),
    },
    { listed: true },
  ),
);

export const verbosity = word("low", "medium", "high", "xhigh", "max");

const truncationWord = word("auto", "disabled");

/** A word, or an object with the word as its type. */
export const truncation = stringOr(
  truncationWord,
  object({ type: truncationWord }, { required: ["type"] }),
  "must be one of auto, disabled",
);

export const prompt = named(
  "Prompt",
  object(
    { id: string({ min: 1 }), version: nullable(string()), variables: nullable(map(promptVariable)) },
    { required: ["id"], description: "A stored prompt. None is stored here: 404." },
  ),
);

export const trace = named(
  "Trace",
  object(
    {
      trace_id: string(),
      trace_name: string(),
      span_name: string(),
      generation_name: string(),
      parent_span_id: string(),
    },
    { description: "Names for telemetry, further fields among them; never sent to a provider." },
  ),
);

const condition = (type: string, field: string, shape: Shape): Shape =>
  object({ type: word(type), [field]: shape }, { required: ["type", field] });

export const stopServerToolsWhen = oneOrMore(
  named(
    "StopCondition",
    tagged(
      "type",
      {
        step_count_is: condition("step_count_is", "step_count", integer({ min: 1 })),
        has_tool_call: condition("has_tool_call", "tool_name", string({ min: 1 })),
        max_tokens_used: condition("max_tokens_used", "max_tokens", integer({ min: 1 })),
        max_cost: condition("max_cost", "max_cost_in_dollars", number({ above: 0 })),
        finish_reason_is: condition("finish_reason_is", "reason", string({ min: 1 })),
      },
      { listed: true },
    ),
  ),
  "condition",
);

/** Keys and values vary by model and provider. */
export const imageConfig = map({
  check: (value, path, problems) => {
    if (typeof value === "string" || typeof value === "number" || Array.isArray(value)) return;
    problems.add(path, "must be a string, a number or an array");
  },
  schema: (components) => ({
    anyOf: [string().schema(components), number().schema(components), array(anyValue).schema(components)],
  }),
});
