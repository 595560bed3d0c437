/** Tools of the Messages format. The type of a tool ends in the date of its version. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import {
  type Shape,
  array,
  boolean,
  childPath,
  described,
  integer,
  named,
  nullable,
  object,
  string,
  tagged,
  word,
} from "@sluice/proto/lib/validation/shape.js";
import { openObject } from "@sluice/proto/contract/items/parts.js";
import { cacheControl } from "@sluice/proto/contract/request/caching.js";
import { toolName } from "@sluice/proto/contract/tools/tool-name.js";

const common = {
  cache_control: nullable(cacheControl),
  defer_loading: described(nullable(boolean), "Held back until a tool search finds it."),
};

const customTool = named(
  "MessagesTool",
  object(
    {
      type: nullable(word("custom")),
      name: toolName,
      description: nullable(string()),
      input_schema: described(openObject, "JSON Schema; it reaches the provider byte for byte."),
      strict: nullable(boolean),
      ...common,
    },
    { required: ["name", "input_schema"], description: "A tool that the client runs." },
  ),
);

const domains = nullable(array(string()));

/** Families of tools, each recognized by the beginning of its tools' types. */
export const toolFamilies = [
  "bash_",
  "text_editor_",
  "computer_",
  "memory_",
  "web_search_",
  "web_fetch_",
  "code_execution_",
  "tool_search_tool_regex",
  "tool_search_tool_bm25",
  "mcp_toolset",
] as const;

export type ToolFamily = (typeof toolFamilies)[number];

export const findToolFamily = (type: string): ToolFamily | undefined =>
  toolFamilies.find((family) => type.startsWith(family));

const familyType = string({
  pattern: { form: new RegExp(`^(?:${toolFamilies.join("|")})`), message: "the type of a tool that exists" },
});

/** Fields of all typed tools; each family reads only its own. */
const typedTool = named(
  "MessagesTypedTool",
  object(
    {
      type: familyType,
      name: nullable(toolName),
      max_uses: nullable(integer({ min: 1 })),
      max_content_tokens: nullable(integer({ min: 1 })),
      citations: nullable(object({ enabled: nullable(boolean) })),
      allowed_domains: domains,
      blocked_domains: domains,
      user_location: nullable(openObject),
      display_width_px: nullable(integer({ min: 1 })),
      display_height_px: nullable(integer({ min: 1 })),
      mcp_server_name: nullable(string({ min: 1 })),
      ...common,
    },
    { required: ["type"], description: "A tool that is known by its type." },
  ),
);

const tool: Shape = {
  check: (value, path, problems) => {
    const type = isObject(value) ? value["type"] : undefined;
    if (typeof type !== "string" || type === "custom") return customTool.check(value, path, problems);
    if (findToolFamily(type) === undefined)
      problems.add(childPath(path, "type"), `unknown tool type ${type.slice(0, 64)}`);
    else typedTool.check(value, path, problems);
  },
  schema: (components) => ({ anyOf: [customTool.schema(components), typedTool.schema(components)] }),
};

export const messagesTools = array(tool, { entry: "tool" });

const single = { disable_parallel_tool_use: nullable(boolean) };

export const messagesToolChoice = named(
  "MessagesToolChoice",
  tagged(
    "type",
    {
      auto: object({ type: word("auto"), ...single }, { required: ["type"] }),
      any: object({ type: word("any"), ...single }, { required: ["type"] }),
      tool: object({ type: word("tool"), name: toolName, ...single }, { required: ["type", "name"] }),
      none: object({ type: word("none") }, { required: ["type"] }),
    },
    { listed: true },
  ),
);

/** An MCP server whose tools Sluice calls. */
export const mcpServer = named(
  "MessagesMcpServer",
  object(
    {
      type: word("url"),
      name: string({ min: 1 }),
      url: string({ min: 1 }),
      authorization_token: nullable(string()),
      tool_configuration: nullable(
        object({ enabled: nullable(boolean), allowed_tools: nullable(array(string({ min: 1 }))) }),
      ),
    },
    { required: ["type", "name", "url"] },
  ),
);
