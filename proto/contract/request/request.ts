/** The body of POST /responses. */
import type { JsonObject } from "../../lib/validation/fields.ts";
import type { Problems } from "../../lib/validation/problems.ts";
import {
  type Shape,
  anyValue,
  array,
  boolean,
  childPath,
  constant,
  described,
  printOnly,
  integer,
  map,
  named,
  nullable,
  object,
  string,
  unsetByNull,
  word,
} from "../../lib/validation/shape.ts";
import { isLongerThan } from "../../lib/validation/text.ts";
import { cacheControl, promptCacheOptions } from "./caching.ts";
import { anthropicBetas, contextManagement, prediction } from "./extensions.ts";
import { responsesParameters } from "./parameters.ts";
import { input } from "../items/input.ts";
import { plugins } from "./plugins.ts";
import { providerPreferences } from "./provider.ts";
import {
  imageConfig,
  prompt,
  reasoning,
  stopServerToolsWhen,
  textFormat,
  trace,
  truncation,
  verbosity,
} from "./settings.ts";
import { toolChoice } from "../tools/tool-choice.ts";
import { toolsShape } from "../tools/tools.ts";

/** A text for storage, search or comparison. */
const identifier = (max?: number): Shape => string({ identifier: true, ...(max !== undefined && { max }) });

const maxSlug = 256;
const slug = string({ identifier: true, min: 1, max: maxSlug });

function checkKey(key: string, path: string, problems: Problems): void {
  const long = isLongerThan(key, 64);
  const at = long || key === "" ? path : childPath(path, key);
  if (key === "") problems.add(at, "keys must have at least 1 character");
  if (long) problems.add(at, "keys must have at most 64 characters");
  if (/[[\]]/.test(key)) problems.add(at, "keys must not contain brackets");
  // A protobuf map cannot hold this key: the pair would be lost on its way.
  if (key === "__proto__") problems.add(at, "this key is reserved");
  keyText.check(key, at, problems);
}
const keyText = identifier();

const metadata = map(identifier(512), {
  max: 16,
  key: {
    check: checkKey,
    schema: { minLength: 1, maxLength: 64, pattern: String.raw`^[^\[\]\x00]*$`, not: { const: "__proto__" } },
  },
});

const notStored = "must be false: responses are not stored";

function checkModel({ model, models }: JsonObject, problems: Problems): void {
  const none = (models ?? null) === null || (Array.isArray(models) && models.length === 0);
  if (none && (model ?? "") === "") problems.add("model", "model or models is required");
}

const anySteps = nullable(integer());
const countedSteps = nullable(integer({ min: 1, max: 30 }));

/** `stop_server_tools_when` overrides `max_tool_calls`, so the range is not checked then. */
function checkSteps({ max_tool_calls: steps, stop_server_tools_when: stop }: JsonObject, problems: Problems): void {
  if (steps === undefined) return;
  const shape = stop === undefined ? countedSteps : anySteps;
  shape.check(steps, "max_tool_calls", problems);
}

function checkTogether(request: JsonObject, _: string, problems: Problems): void {
  checkModel(request, problems);
  checkSteps(request, problems);
}

/**
 * Every field with a meaning; others are ignored. `input`, `tools`, `tool_choice`, `reasoning` and `text.format` are checked when they are read, by their
 * own shapes.
 */
export const requestShape = named(
  "ResponseRequest",
  object(
    {
      model: described(unsetByNull(identifier(maxSlug)), "Slug of the model."),
      models: described(
        unsetByNull(array(slug, { max: 32 })),
        "Further slugs, tried in order when the first cannot serve; without `model` the first of them is it.",
      ),
      input: described(printOnly(input), "One message of the user as text, or the conversation so far as items."),
      instructions: described(nullable(string()), "Put before the input as a system message."),
      stream: described(nullable(boolean), "Whether the answer comes as events; false when absent."),
      ...responsesParameters,
      tools: described(printOnly(unsetByNull(toolsShape)), "What the model may call."),
      tool_choice: described(
        printOnly(nullable(toolChoice)),
        "Which of the tools it may or must call; auto when absent.",
      ),
      parallel_tool_calls: described(
        nullable(boolean),
        "Whether the model may call several tools at once; true when absent.",
      ),
      max_tool_calls: described(
        printOnly(anySteps),
        "Steps that server tools may take, 1 to 30; 30 when absent. Ignored beside stop_server_tools_when.",
      ),
      stop_server_tools_when: described(
        unsetByNull(stopServerToolsWhen),
        "Server tools stop as soon as one condition holds.",
      ),
      text: described(
        unsetByNull(object({ format: printOnly(nullable(textFormat)), verbosity: nullable(verbosity) })),
        "The form of the answer.",
      ),
      reasoning: described(printOnly(nullable(reasoning)), "How much the model is to think, and what of it is shown."),
      include: described(
        nullable(
          array(
            word(
              "file_search_call.results",
              "message.input_image.image_url",
              "computer_call_output.output.image_url",
              "reasoning.encrypted_content",
              "code_interpreter_call.outputs",
              "web_search_call.action.sources",
              "web_search_call.results",
              "message.output_text.logprobs",
            ),
          ),
        ),
        "Additions to the answer.",
      ),
      modalities: described(unsetByNull(array(word("text", "image"))), "Forms that the output may have."),
      image_config: described(unsetByNull(imageConfig), "Settings for image output; they vary by model and provider."),
      metadata: described(
        nullable(metadata),
        "Repeated in the answer, and recorded as tags of the request where a value has at most 256 characters. Keys without brackets.",
      ),
      user: described(unsetByNull(identifier(256)), "The end user."),
      safety_identifier: described(
        nullable(identifier()),
        "The end user, so that a provider can isolate abuse; providers get a keyed hash of it.",
      ),
      session_id: described(
        unsetByNull(identifier(256)),
        "Groups requests and keeps them with one provider; counts before the header x-session-id.",
      ),
      prompt_cache_key: described(nullable(identifier()), "Hint for the provider's cache."),
      prompt_cache_options: described(
        nullable(promptCacheOptions),
        "How the provider caches; ignored by providers without such an option.",
      ),
      cache_control: described(unsetByNull(cacheControl), "Marks the last block that can be cached."),
      service_tier: described(
        nullable(word("auto", "default", "fast", "flex", "priority", "scale", "ultrafast")),
        "Which endpoints are asked; auto when absent. fast is priority.",
      ),
      truncation: described(
        nullable(truncation),
        "What happens to input that is too long: auto is the same as the plugin context-compression; disabled when absent, but for windows of up to 8192 tokens.",
      ),
      provider: described(nullable(providerPreferences), "Preferences for where the request is served."),
      plugins: described(unsetByNull(plugins), "What the service does beyond asking the model."),
      trace: described(unsetByNull(trace), "Names for telemetry."),
      debug: described(
        unsetByNull(
          object({
            echo_upstream_body: described(
              unsetByNull(boolean),
              "Whether a stream begins with an event that shows the body sent to the provider.",
            ),
          }),
        ),
        "What a stream shows of the way to the provider.",
      ),
      prediction: described(nullable(prediction), "Text that the answer will mostly repeat."),
      anthropic_betas: described(
        unsetByNull(anthropicBetas),
        "Names of beta features for providers that speak Anthropic's API.",
      ),
      context_management: described(
        nullable(contextManagement),
        "What the provider itself takes out of a long conversation, in the form that it knows.",
      ),
      prompt: described(nullable(prompt), "A stored prompt. None is stored here: 404."),
      route: described(anyValue, "Deprecated, without effect."),
      store: described(nullable(constant(false, notStored)), "Nothing is stored."),
      background: described(nullable(constant(false, notStored)), "Nothing runs in the background."),
      conversation: described(
        constant(null, "conversation is not supported; send the full history in input"),
        "Not supported: nothing is stored.",
      ),
      previous_response_id: described(
        constant(null, "previous_response_id is not supported; send the full history in input"),
        "Not supported: nothing is stored.",
      ),
    },
    {
      also: checkTogether,
      description: "A request to a model. Fields that are not listed are ignored; null is the same as no field.",
    },
  ),
);
