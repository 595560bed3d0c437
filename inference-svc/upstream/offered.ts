/** The tools that a model may call: those of the request and those that items of the input add. */
import type {
  CustomTool,
  FunctionTool,
  HostedTool,
  Tool,
  ToolChoice,
  ToolReference,
  TurnRequest,
} from "../turn/request.ts";
import { type JsonObject, objects, text } from "./json.ts";

export interface Offered {
  /** As in the request: `tools.1`, `tools.2.tools.0`, `input.4.tools.0`. */
  readonly path: string;
  readonly tool: FunctionTool | CustomTool | HostedTool;
  /** Of the tools under a common name. */
  readonly namespace?: { readonly name: string; readonly description: string };
  /** False for what the choice of tools leaves out. */
  readonly allowed: boolean;
}

const none: readonly Offered[] = [];

const known = new WeakMap<TurnRequest, readonly Offered[]>();

/** Items that bring tools along. */
const bringers: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

/** In the order of the request; members of a namespace stand alone. Every endpoint of a model asks for those of the same request. */
export function offeredTools(request: TurnRequest): readonly Offered[] {
  let offered = known.get(request);
  if (offered === undefined) known.set(request, (offered = collect(request)));
  return offered;
}

function collect(request: TurnRequest): readonly Offered[] {
  const brought = request.input.some((item) => bringers.has(item.type));
  if (request.tools.length === 0 && !brought) return none;
  const allowed = allowedBy(request.toolChoice);
  return [
    ...request.tools.flatMap((tool, index) => membersOf(tool, `tools.${index}`, allowed)),
    ...request.input.flatMap((item, position) =>
      bringers.has(item.type)
        ? objects(item.tools).flatMap((tool, index) =>
            membersOf(toolOf(tool), `input.${position}.tools.${index}`, allowed),
          )
        : none,
    ),
  ];
}

/** A namespace that must be called leaves out what is not in it. */
function allowedBy(choice: ToolChoice | undefined): readonly ToolReference[] | undefined {
  if (typeof choice !== "object") return undefined;
  if (choice.type === "allowed_tools") return choice.tools;
  return choice.tool.type === "namespace" ? [choice.tool] : undefined;
}

function membersOf(tool: Tool, path: string, allowed: readonly ToolReference[] | undefined): readonly Offered[] {
  const isAllowed = (member: Offered["tool"], namespace?: string) =>
    allowed === undefined || allowed.some((reference) => refersTo(reference, member, namespace));
  if (tool.type === "hosted" && tool.leftOut) return [];
  if (tool.type !== "namespace") return [{ path, tool, allowed: isAllowed(tool) }];
  const { name, description } = tool;
  return tool.tools.map((member, index) => ({
    path: `${path}.tools.${index}`,
    tool: member,
    namespace: { name, description },
    allowed: isAllowed(member, name),
  }));
}

/** A reference without a namespace means the tool wherever it stands; one to a namespace means all that is in it. */
export function refersTo(reference: ToolReference, tool: Offered["tool"], namespace?: string): boolean {
  if (reference.type === "namespace") return namespace !== undefined && reference.name === namespace;
  if (tool.type === "hosted") return reference.type === tool.kind || reference.type === tool.spelling;
  const inside = reference.namespace === undefined || reference.namespace === null || reference.namespace === namespace;
  return reference.type === tool.type && reference.name === tool.name && inside;
}

/** Finds tools that are held back: where none are, it has nothing to do. */
export const isSearch = (tool: Offered["tool"]): boolean =>
  tool.type === "hosted" && /^(service:)?tool_search$/.test(tool.kind);

/** A search of the web, by any of the names that clients know for it. */
export const isWebSearch = (type: string): boolean => /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/.test(type);

/** A tool that is to be run by somebody else than the client. */
export const hostedTool = (request: TurnRequest): (Offered & { readonly tool: HostedTool }) | undefined =>
  offeredTools(request).find(
    (entry): entry is Offered & { readonly tool: HostedTool } =>
      entry.tool.type === "hosted" && entry.allowed && !isSearch(entry.tool),
  );

/** A tool out of an item. */
function toolOf(value: JsonObject): Tool {
  const json = JSON.stringify(value);
  const name = text(value.name);
  const description = typeof value.description === "string" ? { description: value.description } : {};
  const later = value.async === true ? { async: true } : {};
  switch (value.type) {
    case "function": {
      const strict = typeof value.strict === "boolean" ? { strict: value.strict } : {};
      const deferred = value.defer_loading === true ? { deferLoading: true } : {};
      const parametersJson = JSON.stringify(value.parameters ?? null);
      return { type: "function", name, parametersJson, json, ...description, ...strict, ...later, ...deferred };
    }
    case "custom": {
      const format = value.format === undefined ? {} : { formatJson: JSON.stringify(value.format) };
      return { type: "custom", name, json, ...description, ...format, ...later };
    }
    case "namespace": {
      const tools = objects(value.tools).map(toolOf);
      const members = tools.filter((tool) => tool.type === "function" || tool.type === "custom");
      return { type: "namespace", name, description: text(value.description), tools: members, json };
    }
    default:
      return { type: "hosted", kind: text(value.type), spelling: text(value.type), json };
  }
}
