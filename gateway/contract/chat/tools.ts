/** Tools of a request in the format of chat completions, and the choice among them. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import {
  type Shape,
  array,
  boolean,
  childPath,
  described,
  named,
  nullable,
  object,
  openTagged,
  string,
  stringOr,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { openObject } from "@sluice/proto/contract/items/parts.js";
import { cacheControl } from "@sluice/proto/contract/request/caching.js";
import { toolName } from "@sluice/proto/contract/tools/tool-name.js";
import { locationFields, searchContextSize } from "@sluice/proto/contract/tools/tool-settings.js";

/** Adds a problem for a `type` in a nested object whose tool or format already has a type. */
function checkNoType(value: JsonObject, path: string, problems: Problems): void {
  if (value["type"] !== undefined) problems.add(childPath(path, "type"), "belongs outside of this object");
}

export const withoutTypeField = { also: checkNoType } as const;

const mark = described(nullable(cacheControl), "Marks the tools up to this one for the provider's cache.");

const functionFields = {
  name: toolName,
  description: nullable(string()),
  parameters: described(nullable(openObject), "JSON Schema; it reaches the provider byte for byte."),
};

const functionTool = named(
  "ChatFunctionTool",
  object(
    {
      type: word("function"),
      function: object(
        {
          ...functionFields,
          strict: described(nullable(boolean), "Whether arguments must follow the schema exactly."),
          cache_control: nullable(cacheControl),
        },
        { required: ["name"], ...withoutTypeField },
      ),
      cache_control: mark,
    },
    {
      required: ["function"],
      description: "A function that the client runs; the type may be left out, as at Mistral.",
    },
  ),
);

const grammar = object(
  { syntax: word("lark", "regex"), definition: string({ min: 1 }) },
  { required: ["syntax", "definition"] },
);

const customTool = named(
  "ChatCustomTool",
  object(
    {
      type: word("custom"),
      custom: object(
        {
          name: toolName,
          description: nullable(string()),
          format: nullable(
            tagged(
              "type",
              {
                text: object({ type: word("text") }, { required: ["type"] }),
                grammar: object({ type: word("grammar"), grammar }, { required: ["type", "grammar"] }),
              },
              { listed: true },
            ),
          ),
        },
        { required: ["name"] },
      ),
      cache_control: mark,
    },
    { required: ["type", "custom"], description: "A tool of the client whose input is any text." },
  ),
);

/** Message for tools whose calls the client would have to run, although messages have no form for such calls. */
const unanswerable =
  /^(?:computer|computer_use_preview|local_shell|shell|bash|namespace|tool_search)$|(?:^|:)apply_patch$/;

function checkServerTool(value: unknown, path: string, problems: Problems): void {
  if (!isObject(value)) return;
  const type = String(value["type"]);
  const parameters = value["parameters"];
  if (unanswerable.test(type)) {
    problems.add(childPath(path, "type"), `${type} is not possible here; POST /api/v1/responses takes it`);
  }
  if (type === "mcp" && value["require_approval"] !== "never") {
    problems.add(childPath(path, "require_approval"), "must be never: messages have no form for approvals");
  }
  if (isObject(parameters) && parameters["inherit_functions"] === true) {
    problems.add(
      childPath(path, "parameters.inherit_functions"),
      "messages have no form for the calls of another model; POST /api/v1/responses takes it",
    );
  }
}

const isUntypedFunction = (value: unknown): boolean =>
  isObject(value) && value["type"] === undefined && isObject(value["function"]);

const clientTools = openTagged("type", { function: functionTool, custom: customTool });

/** Tools of clients, and server tools. Server tools have the same form as at /responses, and are checked when they run. */
const chatTool = named("ChatTool", {
  ...clientTools,
  check: (value: unknown, path: string, problems: Problems, or?: string) => {
    if (isUntypedFunction(value)) return functionTool.check(value, path, problems, or);
    clientTools.check(value, path, problems, or);
    checkServerTool(value, path, problems);
  },
});

export const chatTools = array(chatTool);

/** `functions`, the deprecated form of `tools`. */
export const chatFunctions = array(object(functionFields, { required: ["name"], ...withoutTypeField }), { max: 128 });

const byName = object({ name: string({ min: 1 }) }, { required: ["name"] });

const references: Readonly<Record<string, Shape>> = {
  function: object({ type: word("function"), function: byName }, { required: ["type", "function"] }),
  custom: object({ type: word("custom"), custom: byName }, { required: ["type", "custom"] }),
};

const allowedTools = object(
  {
    type: word("allowed_tools"),
    allowed_tools: object(
      {
        mode: described(word("auto", "required"), "Whether one of them must be called."),
        tools: array(openTagged("type", references), { min: 1, entry: "tool" }),
      },
      { required: ["mode", "tools"] },
    ),
  },
  { required: ["type", "allowed_tools"], description: "No other tool may be called." },
);

const choiceSays = "must be one of none, auto, required, or an object that names a tool";

export const chatToolChoice = named(
  "ChatToolChoice",
  stringOr(
    // "any" is Mistral's word for "required".
    word("none", "auto", "required", "any"),
    openTagged("type", { ...references, allowed_tools: allowedTools }),
    choiceSays,
  ),
);

/** `function_call`, the deprecated form of `tool_choice`. */
export const chatFunctionChoice = stringOr(word("none", "auto"), byName, "must be none, auto or an object with a name");

export const webSearchOptions = object(
  {
    search_context_size: nullable(searchContextSize),
    user_location: nullable(
      object({ type: word("approximate"), approximate: object(locationFields) }, { required: ["type", "approximate"] }),
    ),
  },
  { description: "The model may search the web." },
);
