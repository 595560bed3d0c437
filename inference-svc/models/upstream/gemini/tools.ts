/** Converts functions and the tool choice to the form of Gemini (https://ai.google.dev/gemini-api/docs/function-calling). */
import type { FunctionTool, ToolChoice, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, type Verbatim, arrayJson } from "../json.ts";
import { WeakCache } from "../translate/weak-cache.ts";
import { geminiSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { refersTo } from "../translate/offered-tools.ts";
import { dropToolFields, describeTool, buildWrapperSchema } from "../translate/tool-description.ts";
import type { SentTool, SentTools } from "../translate/names/tool-names.ts";
import type { TranslationContext } from "../translate/context.ts";
import { nativeTools } from "./native-tools.ts";

export interface GeminiToolSettings {
  readonly tools?: readonly JsonObject[];
  readonly toolConfig?: JsonObject;
}

export function geminiToolSettings(request: TurnRequest, translation: TranslationContext): GeminiToolSettings {
  const { list, searches } = translation.tools;
  for (const path of searches) translation.onDropped(path, "all tools are sent, so there is nothing to search");
  const native = nativeTools(request, translation.onDropped);
  if (list.length === 0) {
    if (native.length === 0) return {};
    if (isForced(request.toolChoice)) translation.onDropped("tool_choice", "the provider decides when to search");
    return { tools: native };
  }
  if (request.parallelToolCalls === false) {
    translation.onDropped("parallel_tool_calls", "the format has no field for it: there may be several calls");
  }
  const calling = callingConfig(request, translation);
  return {
    tools: [{ functionDeclarations: declarations.of(translation.tools, translation.onDropped) }],
    ...(calling && { toolConfig: { functionCallingConfig: calling } }),
  };
}

const declarations = new WeakCache(({ list }: SentTools, onDropped) =>
  arrayJson(list.map((tool) => declaration(tool, onDropped))),
);

function declaration(offered: SentTool, onDropped: OnDropped): JsonObject {
  const { path, tool, sentName } = offered;
  dropToolFields(offered, onDropped);
  const schema = tool.type === "function" ? schemaOf(tool, path, onDropped) : buildWrapperSchema(tool, path, onDropped);
  return { name: sentName, description: describeTool(offered), parametersJsonSchema: schema };
}

/** The schema of a function; undefined for a function without parameters, which is sent without one. */
const schemaOf = (tool: FunctionTool, path: string, onDropped: OnDropped): Verbatim | undefined =>
  tool.parametersJson === "null" ? undefined : sendTool(tool, path, geminiSchemas, onDropped).schema;

const isForced = (choice: ToolChoice | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && (choice.type === "tool" || choice.mode === "required"));

/** The configuration of calls; undefined when the model may choose freely. */
function callingConfig({ toolChoice: choice }: TurnRequest, { tools }: TranslationContext): JsonObject | undefined {
  if (choice === "none") return { mode: "NONE" };
  if (!isForced(choice)) return free(tools.list);
  // Tools the choice excludes are not sent at all, so any of the functions will do.
  if (typeof choice !== "object" || choice.type !== "tool" || choice.tool.type === "namespace") return { mode: "ANY" };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { mode: "ANY", allowedFunctionNames: [named?.sentName ?? reference.name] };
}

/** The configuration for a free choice. VALIDATED is the only mode that enforces schemas while the model may also answer with text. */
const free = (tools: readonly SentTool[]): JsonObject | undefined =>
  tools.some(({ tool }) => tool.type === "function" && tool.strict === true) ? { mode: "VALIDATED" } : undefined;
