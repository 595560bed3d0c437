/** Shape of `tools`: the tools a model may call. */
import { isObject } from "../../lib/validation/fields.ts";
import {
  type Shape,
  array,
  boolean,
  childPath,
  described,
  named,
  nullable,
  object,
  string,
  tagged,
  word,
} from "../../lib/validation/shape.ts";
import { nativeTools } from "./native-tools.ts";
import { openObject } from "../items/parts.ts";
import { cacheControl } from "../request/caching.ts";
import { serviceTools } from "./service-tools.ts";
import { toolName } from "./tool-name.ts";

/** Recognizes the nested form of Chat Completions, so its clients see the actual mistake instead of a list of missing fields. */
export const notNested = <S extends Shape>(shape: S, message: string): S => ({
  ...shape,
  check: (value: unknown, path: string, problems: Parameters<Shape["check"]>[2]) => {
    if (isObject(value) && isObject(value["function"])) problems.add(childPath(path, "function"), message);
    else shape.check(value, path, problems);
  },
});

const functionFields = {
  type: word("function"),
  name: toolName,
  description: nullable(string()),
  parameters: described(nullable(openObject), "JSON Schema; it reaches the provider byte for byte."),
  strict: described(nullable(boolean), "Whether arguments must follow the schema exactly."),
  async: described(nullable(boolean), "The result may be given in a later request."),
  defer_loading: described(nullable(boolean), "Held back until tool search finds it."),
  cache_control: described(nullable(cacheControl), "Marks the tools up to this one for the provider's cache."),
  anthropic_tool: described(
    nullable(openObject),
    "The tool in Anthropic's own form, such as a dated `bash` tool: endpoints that take its betas are sent this instead.",
  ),
};

const nestedSays = "name, description and parameters belong beside type, not inside function";

export const functionTool = named(
  "FunctionTool",
  notNested(
    object(functionFields, { required: ["type", "name"], description: "A function that the client runs." }),
    nestedSays,
  ),
);

const customFields = {
  type: word("custom"),
  name: toolName,
  description: nullable(string()),
  format: nullable(
    tagged(
      "type",
      {
        text: object({ type: word("text") }, { required: ["type"] }),
        grammar: object(
          { type: word("grammar"), syntax: word("lark", "regex"), definition: string({ min: 1 }) },
          { required: ["type", "syntax", "definition"] },
        ),
      },
      { listed: true },
    ),
  ),
  async: nullable(boolean),
  defer_loading: nullable(boolean),
  cache_control: nullable(cacheControl),
};

const customTool = named(
  "CustomTool",
  object(customFields, { required: ["type", "name"], description: "A tool of the client whose input is any text." }),
);

const namespaceFunction = notNested(
  object(
    {
      ...functionFields,
      allowed_callers: nullable(array(word("direct", "programmatic"))),
      output_schema: nullable(openObject),
    },
    { required: ["type", "name"] },
  ),
  nestedSays,
);

const namespaceTool = named(
  "NamespaceTool",
  object(
    {
      type: word("namespace"),
      name: toolName,
      description: string(),
      tools: array(
        tagged("type", { function: namespaceFunction, custom: customTool }, { elsewhere: ["namespace", "mcp"] }),
        { min: 1, entry: "tool" },
      ),
    },
    { required: ["type", "name", "description", "tools"], description: "Functions and custom tools under one name." },
  ),
);

const componentName = (type: string): string =>
  `${type.replaceAll(/(?:^|[_:])([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())}Tool`;

/** Names of items other than tools, and tools without a prefix. */
function expectedTool(kind: string): string | undefined {
  const name = /^[a-z]+:(.+)$/.exec(kind)?.[1] ?? "";
  if (["mcp", "file_search"].includes(name)) return `${kind} is called ${name}, without a prefix`;
  const noTool = `${kind} is no tool of this service`;
  if (name === "memory") return `${noTool}, which stores nothing`;
  if (name === "text_editor") return `${noTool}; files are changed with apply_patch or service:bash`;
  return name === "browser_use" ? `${noTool}; pages are read with service:web_fetch` : undefined;
}

const hosted = Object.entries({ ...nativeTools, ...serviceTools });

export const tool = named(
  "Tool",
  tagged(
    "type",
    {
      function: functionTool,
      custom: customTool,
      namespace: namespaceTool,
      ...Object.fromEntries(hosted.map(([type, shape]) => [type, named(componentName(type), shape)])),
    },
    { expected: expectedTool },
  ),
);

export const toolsShape = array(tool);
