/** The body of POST /chat/completions. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import {
  type Shape,
  array,
  boolean,
  constant,
  described,
  named,
  nullable,
  object,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { chatParameters } from "@sluice/proto/contract/request/parameters.js";
import { requestShape } from "@sluice/proto/contract/request/request.js";
import { effort, reasoning, verbosity } from "@sluice/proto/contract/request/settings.js";
import { openObject } from "@sluice/proto/contract/items/parts.js";
import { string } from "@sluice/proto/lib/validation/shape.js";
import { chatMessages } from "./messages.ts";
import {
  chatFunctionChoice,
  chatFunctions,
  chatToolChoice,
  chatTools,
  withoutTypeField,
  webSearchOptions,
} from "./tools.ts";

/** The fields shared with /responses. All are nullable here, since clients of chat completions write unset settings as null. */
const shared = Object.fromEntries(
  Object.entries(requestShape.fields).map(([name, shape]) => [name, nullable(shape)]),
) as Readonly<Record<keyof typeof requestShape.fields, Shape>>;

const formatName = string({
  pattern: { form: /^[A-Za-z0-9_-]{1,64}$/, message: "1 to 64 letters, digits, _ and -" },
});

const responseFormat = named(
  "ChatResponseFormat",
  tagged(
    "type",
    {
      text: object({ type: word("text") }, { required: ["type"], description: "Plain text." }),
      json_object: object({ type: word("json_object") }, { required: ["type"], description: "Any JSON object." }),
      json_schema: object(
        {
          type: word("json_schema"),
          json_schema: object(
            {
              name: formatName,
              schema: described(openObject, "JSON Schema; it reaches the provider byte for byte."),
              description: nullable(string()),
              strict: described(nullable(boolean), "Whether the answer must follow the schema exactly."),
            },
            { required: ["name", "schema"], ...withoutTypeField },
          ),
        },
        { required: ["type", "json_schema"], description: "JSON that follows a schema." },
      ),
    },
    { listed: true },
  ),
);

const chatReasoning = object(
  {
    ...reasoning.fields,
    exclude: described(nullable(boolean), "Whether the answer is to leave reasoning out, though the model thinks."),
  },
  { description: "How much the model is to think, and whether that is shown." },
);

/** Adds a problem if two fields with the same meaning have different values. */
function checkSame(request: JsonObject, one: string, other: string, problems: Problems): void {
  const [value, second] = [request[one], request[other]];
  if (isUnset(value) || isUnset(second) || value === second) return;
  problems.add(other, `must be the same as ${one}, or absent`);
}

const isUnset = (value: unknown): boolean => value === undefined || value === null;

function checkTogether(request: JsonObject, path: string, problems: Problems): void {
  requestShape.rules.also?.(request, path, problems);
  checkSame(request, "max_completion_tokens", "max_tokens", problems);
  const { reasoning: settings, tools, functions } = request;
  if (isObject(settings)) checkEfforts(settings, request, problems);
  if (!isUnset(tools) && !isUnset(functions)) problems.add("functions", "is the old form of tools: send one of them");
  if ((request["top_logprobs"] ?? 0) !== 0 && request["logprobs"] !== true) {
    problems.add("top_logprobs", "needs logprobs: true");
  }
}

function checkEfforts({ effort: own }: JsonObject, { reasoning_effort: other }: JsonObject, problems: Problems): void {
  if (isUnset(own) || isUnset(other) || own === other) return;
  problems.add("reasoning_effort", "must be the same as reasoning.effort, or absent");
}

const unset = (message: string): Shape => described(constant(null, message), "Not supported.");

/** The fields of a chat completions request with a meaning; others are ignored. Fields with the name of a field of /responses have its rules. */
export const chatRequestShape = named(
  "ChatCompletionRequest",
  object(
    {
      model: shared.model,
      models: shared.models,
      messages: described(chatMessages, "The conversation so far."),
      stream: shared.stream,
      stream_options: described(
        nullable(
          object({
            include_usage: described(
              nullable(boolean),
              "true: the last chunk of a stream, with usage, has no choices. Otherwise it has an empty choice.",
            ),
            include_obfuscation: described(nullable(boolean), "Without effect: nothing is padded."),
          }),
        ),
        "How a stream ends.",
      ),
      ...chatParameters,
      max_tokens: described(chatParameters.max_tokens, "Older name of max_completion_tokens."),
      logprobs: described(nullable(boolean), "Whether the tokens of the answer come with their probabilities."),
      n: described(nullable(constant(1, "must be 1: one answer to a request")), "Number of answers."),
      tools: described(nullable(chatTools), "What the model may call."),
      tool_choice: described(nullable(chatToolChoice), "Which of the tools it may or must call; auto when absent."),
      functions: described(nullable(chatFunctions), "Deprecated form of tools; the model calls one at a time."),
      function_call: described(nullable(chatFunctionChoice), "Deprecated form of tool_choice."),
      parallel_tool_calls: shared.parallel_tool_calls,
      web_search_options: described(nullable(webSearchOptions), "Adds the tool web_search."),
      max_tool_calls: shared.max_tool_calls,
      stop_server_tools_when: shared.stop_server_tools_when,
      response_format: described(nullable(responseFormat), "The form of the answer."),
      verbosity: nullable(verbosity),
      reasoning: described(nullable(chatReasoning), "How much the model is to think, and whether that is shown."),
      reasoning_effort: described(nullable(effort), "The effort of `reasoning`."),
      include_reasoning: described(nullable(boolean), "false is the same as exclude of `reasoning`."),
      modalities: shared.modalities,
      image_config: shared.image_config,
      audio: unset("sound of the model is not supported"),
      prediction: shared.prediction,
      metadata: shared.metadata,
      user: shared.user,
      safety_identifier: shared.safety_identifier,
      session_id: shared.session_id,
      prompt_cache_key: shared.prompt_cache_key,
      prompt_cache_options: shared.prompt_cache_options,
      cache_control: shared.cache_control,
      service_tier: described(
        nullable(word("auto", "default", "on_demand", "fast", "flex", "priority", "scale", "ultrafast")),
        "Which endpoints are asked; auto when absent. fast is priority, and on_demand, Groq's word, is default.",
      ),
      provider: shared.provider,
      plugins: shared.plugins,
      transforms: described(
        nullable(array(word("middle-out"))),
        "middle-out is the plugin context-compression; an empty list turns it off.",
      ),
      usage: described(
        nullable(object({ include: nullable(boolean) })),
        "`include: true` is the same as `stream_options.include_usage`. A whole answer always has usage.",
      ),
      trace: shared.trace,
      debug: shared.debug,
      route: shared.route,
      store: shared.store,
    },
    {
      required: ["messages"],
      also: checkTogether,
      description: "A request to a model as chat messages. Fields that are not listed are ignored.",
    },
  ),
);
