/** Converts tools and the tool choice to the form of chat completions. */
import type { ToolChoice, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, type ObjectWriter, Verbatim, arrayJson, objectJson } from "../json.ts";
import { compatibleSchemas } from "../translate/schemas/compatible-rules.ts";
import type { VendorSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { refersTo } from "../translate/offered-tools.ts";
import { dropToolFields, describeTool, parseToolFormat, buildWrapperSchema } from "../translate/tool-description.ts";
import type { SentTool, SentTools } from "../translate/names/tool-names.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { WeakCache, cacheByObject } from "../translate/weak-cache.ts";

export function addChatTools(body: ObjectWriter, request: TurnRequest, translation: TranslationContext): void {
  const { tools, target, onDropped } = translation;
  for (const path of tools.searches) onDropped(path, "all tools are sent, so there is nothing to search");
  if (tools.list.length === 0) return;
  body.add("tools", writerOf(target).of(tools, onDropped));
  if (request.toolChoice !== undefined) body.add("tool_choice", toolChoice(request.toolChoice, translation));
  body.add("parallel_tool_calls", request.parallelToolCalls);
}

/** Writers of tools for servers of unknown vendors, which get schemas as the client wrote them. */
const plainTools: ToolWriters = {
  bare: new WeakCache(({ list }: SentTools, onDropped) => arrayJson(list.map((tool) => chatTool(tool, onDropped, {})))),
  marked: new WeakCache(({ list }: SentTools, onDropped) =>
    arrayJson(list.map((tool) => markedTool(tool, onDropped, {}))),
  ),
};
const toolsOf = cacheByObject(
  (schemas: VendorSchemas): ToolWriters => ({
    bare: new WeakCache(({ list }: SentTools, onDropped) =>
      arrayJson(list.map((tool) => chatTool(tool, onDropped, { schemas }))),
    ),
    marked: new WeakCache(({ list }: SentTools, onDropped) =>
      arrayJson(list.map((tool) => markedTool(tool, onDropped, { schemas }))),
    ),
  }),
);

function writerOf(target: Target): WeakCache<SentTools, Verbatim> {
  const schemas = compatibleSchemas(target);
  const { bare, marked } = schemas ? toolsOf(schemas) : plainTools;
  return supportsParameter(target, "cache_control") ? marked : bare;
}

/** Writers for the list of tools. */
interface ToolWriters {
  readonly bare: WeakCache<SentTools, Verbatim>;
  /** Writes tools with cache marks. */
  readonly marked: WeakCache<SentTools, Verbatim>;
}

interface ToolForm {
  readonly takesMarks?: boolean;
  /** The vendor's rules for schemas; absent for other servers. */
  readonly schemas?: VendorSchemas;
}

/** A tool with a cache mark. Servers that pass marks on expect the mark next to the function, as Anthropic has it in its tools. */
function markedTool(offered: SentTool, onDropped: OnDropped, form: ToolForm): JsonObject {
  const { cacheControl } = offered.tool;
  const tool = chatTool(offered, onDropped, { ...form, takesMarks: true });
  return { ...tool, ...(cacheControl && { cache_control: cacheControl }) };
}

function chatTool(offered: SentTool, onDropped: OnDropped, { takesMarks = false, schemas }: ToolForm): JsonObject {
  const { path, tool, sentName, wrapped } = offered;
  dropToolFields(offered, onDropped, { takesMarks });
  const head = { name: sentName, description: describeTool(offered) };
  if (tool.type === "function") {
    if (tool.parametersJson === "null") return functionOf({ ...head, strict: tool.strict });
    if (!schemas) return functionOf({ ...head, parameters: new Verbatim(tool.parametersJson), strict: tool.strict });
    const { schema: parameters, strict } = sendTool(tool, path, schemas, onDropped);
    return functionOf({ ...head, parameters, strict: tool.strict === undefined ? undefined : strict });
  }
  if (!wrapped) return { type: "custom", custom: { ...head, format: nativeFormat(parseToolFormat(tool)) } };
  return functionOf({ ...head, parameters: buildWrapperSchema(tool, path, onDropped) });
}

const functionOf = (fields: JsonObject): JsonObject => ({
  type: "function",
  function: new Verbatim(objectJson(fields)),
});

const nativeFormat = (format: JsonObject | undefined): JsonObject | undefined =>
  format?.type === "grammar"
    ? { type: "grammar", grammar: { syntax: format.syntax, definition: format.definition } }
    : format;

function toolChoice(choice: ToolChoice, { tools }: TranslationContext): unknown {
  if (typeof choice === "string") return choice;
  // Tools the choice excludes are not sent at all.
  if (choice.type === "allowed_tools") return choice.mode;
  if (choice.tool.type === "namespace") return "required";
  const chosen = tools.list.find(({ tool, namespace }) => refersTo(choice.tool, tool, namespace?.name));
  const name = chosen?.sentName ?? choice.tool.name;
  return chosen?.tool.type === "custom" && !chosen.wrapped
    ? { type: "custom", custom: { name } }
    : { type: "function", function: { name } };
}
