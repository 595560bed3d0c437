/** Converts tools and the tool choice for Cohere (https://docs.cohere.com/docs/tool-use-overview). */
import type { ToolChoice, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, type ObjectWriter, Verbatim, arrayJson, objectJson } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { WeakCache } from "../translate/weak-cache.ts";
import { cohereSchemas } from "../translate/schemas/rules.ts";
import { sendTool } from "../translate/schemas/sent-schema.ts";
import { refersTo } from "../translate/offered-tools.ts";
import { buildWrapperSchema, describeTool, dropToolFields } from "../translate/tool-description.ts";
import type { SentTool, SentTools } from "../translate/names/tool-names.ts";

export function addCohereTools(body: ObjectWriter, request: TurnRequest, translation: TranslationContext): void {
  const { tools, onDropped } = translation;
  for (const path of tools.searches) onDropped(path, "all tools are sent, so there is nothing to search");
  if (tools.list.length === 0) return;
  const { toolChoice: choice } = request;
  const only = onlyTool(choice, tools);
  const sent = only ? [only] : tools.list;
  const strict = isStrict(sent, onDropped);
  const declare = strict ? strictlyDeclared : declared;
  body.add("tools", only ? arrayJson([cohereTool(only, onDropped, strict)]) : declare.of(tools, onDropped));
  if (strict) body.add("strict_tools", true);
  if (choice === "none") body.add("tool_choice", "NONE");
  else if (isForced(choice)) body.add("tool_choice", "REQUIRED");
  if (request.parallelToolCalls === false) {
    onDropped("parallel_tool_calls", "the format has no field for it: there may be several calls");
  }
}

const declared = new WeakCache(({ list }: SentTools, onDropped) =>
  arrayJson(list.map((tool) => cohereTool(tool, onDropped, false))),
);
const strictlyDeclared = new WeakCache(({ list }: SentTools, onDropped) =>
  arrayJson(list.map((tool) => cohereTool(tool, onDropped, true))),
);

/** A tool in Cohere's format, which requires a schema. @param enforces whether calls must follow the schemas */
function cohereTool(offered: SentTool, onDropped: OnDropped, enforces: boolean): JsonObject {
  const { path, tool, sentName: name } = offered;
  dropToolFields(offered, onDropped);
  const parameters =
    tool.type === "function"
      ? sendTool(tool, path, cohereSchemas, onDropped, enforces).schema
      : buildWrapperSchema(tool, path, onDropped);
  const declaration = { name, description: describeTool(offered), parameters };
  return { type: "function", function: new Verbatim(objectJson(declaration)) };
}

/** The tool the choice names. The format cannot name one in a choice, so no other tool is sent. */
function onlyTool(choice: ToolChoice | undefined, { list }: SentTools): SentTool | undefined {
  if (typeof choice !== "object" || choice.type !== "tool" || choice.tool.type === "namespace") return undefined;
  return list.find(({ tool, namespace }) => refersTo(choice.tool, tool, namespace?.name));
}

/** Whether the choice forces a call. Tools it excludes are not sent at all, so any of the others will do. */
const isForced = (choice: ToolChoice | undefined): boolean =>
  choice === "required" || (typeof choice === "object" && (choice.type === "tool" || choice.mode === "required"));

/** Whether calls must follow the schemas. The format can enforce the schemas of all tools, or of none. */
function isStrict(sent: readonly SentTool[], onDropped: OnDropped): boolean {
  const strict = sent.filter(({ tool }) => tool.type === "function" && tool.strict === true);
  if (strict.length === 0) return false;
  if (sent.every(({ tool }) => tool.type !== "function" || tool.strict === true)) return true;
  for (const { path } of strict) onDropped(`${path}.strict`, "the format enforces the schemas of all tools or of none");
  return false;
}
