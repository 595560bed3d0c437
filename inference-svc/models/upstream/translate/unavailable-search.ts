/**
 * Removes web search from requests to endpoints without it (`tools.unavailable: drop` in the configuration file).
 * Programs such as Codex send this tool with every request and cannot turn it off.
 */
import { hasUnknownItem } from "../../../turn/parse/beginnings.ts";
import { textOnly } from "../../../turn/parse/text-only.ts";
import type { InputItem, Tool, ToolChoice, TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import { objects, text } from "../json.ts";
import { isWebSearch, mayBringTools } from "./offered-tools.ts";
import type { Destination, Provider } from "../provider.ts";

interface Shortened {
  readonly request: TurnRequest;
  readonly droppedFields: readonly DroppedField[];
}

export interface SearchDropping extends Provider {
  /** Whether the endpoint can get the request only without its web search. */
  dropsSearch(destination: Destination, request: TurnRequest): boolean;
}

/** Wraps providers so they accept requests with a web search they do not run. */
export function dropUnavailableSearch<Base extends Provider>(providers: Base): Base & SearchDropping {
  const shortenedFor = (destination: Destination, request: TurnRequest): Shortened | undefined => {
    const shortened = withoutSearch(request);
    return shortened && providers.refusal(destination, request) ? shortened : undefined;
  };
  return {
    ...providers,
    dropsSearch: (destination, request) => shortenedFor(destination, request) !== undefined,
    refusal(destination, request) {
      const shortened = shortenedFor(destination, request);
      return providers.refusal(destination, shortened?.request ?? request);
    },
    droppedFields(destination, request) {
      const { request: sent, droppedFields } = shortenedFor(destination, request) ?? unchanged(request);
      return [...droppedFields, ...providers.droppedFields(destination, sent)];
    },
    preview(destination, request) {
      const { request: sent, droppedFields } = shortenedFor(destination, request) ?? unchanged(request);
      const preview = providers.preview(destination, sent);
      return { ...preview, droppedFields: [...droppedFields, ...preview.droppedFields] };
    },
    turn(destination) {
      const turn = providers.turn(destination);
      return (request, scope) => {
        const shortened = shortenedFor(destination, request);
        if (shortened === undefined) return turn(request, scope);
        scope.trace.droppedFields.push(...shortened.droppedFields);
        return turn(shortened.request, scope);
      };
    },
  };
}

const unchanged = (request: TurnRequest): Shortened => ({ request, droppedFields: [] });

const known = new WeakMap<TurnRequest, Shortened | "impossible">();

/**
 * The request without web search. Cached, because every endpoint of a model needs it for the same request.
 * @returns undefined when the request has no web search, or when its tool choice requires one
 */
function withoutSearch(request: TurnRequest): Shortened | undefined {
  const { tools, input } = request;
  if (tools.length === 0 && textOnly.of(input)) return undefined;
  if (!tools.some(isSearchTool) && !hasUnknownItem(input, bringsSearch)) return undefined;
  let shortened = known.get(request);
  if (shortened === undefined) known.set(request, (shortened = shorten(request) ?? "impossible"));
  return shortened === "impossible" ? undefined : shortened;
}

function shorten(request: TurnRequest): Shortened | undefined {
  const droppedFields: DroppedField[] = [];
  const onDropped = (path: string) => void droppedFields.push({ path, reason: "no provider of this model runs it" });
  const tools = request.tools.map((tool, index): Tool => {
    if (tool.type !== "hosted" || !isSearchTool(tool)) return tool;
    onDropped(`tools.${index}`);
    return { ...tool, leftOut: true };
  });
  const input = request.input.map((item, index) =>
    bringsSearch(item) ? withoutBrought(item, `input.${index}`, onDropped) : item,
  );
  const { toolChoice: choice, parallelToolCalls, ...rest } = request;
  const isAnyLeft = tools.some((tool) => tool.type !== "hosted" || !tool.leftOut) || input.some(bringsTools);
  const left = choice === undefined ? "auto" : choiceLeft(choice, isAnyLeft);
  if (left === undefined) return undefined;
  // Most providers answer 400 to a tool choice in a request without tools.
  if (!isAnyLeft) return { request: { ...rest, tools, input }, droppedFields };
  const choices = { ...(choice !== undefined && { toolChoice: left }) };
  return {
    request: { ...rest, tools, input, ...choices, ...(parallelToolCalls !== undefined && { parallelToolCalls }) },
    droppedFields,
  };
}

const isSearchTool = (tool: Tool): boolean => tool.type === "hosted" && isWebSearch(tool.kind);

const bringsTools = (item: InputItem): boolean => mayBringTools(item) && objects(item["tools"]).length > 0;

const bringsSearch = (item: InputItem): boolean =>
  mayBringTools(item) && objects(item["tools"]).some(({ type }) => isWebSearch(text(type)));

function withoutBrought(item: InputItem, path: string, onDropped: (path: string) => void): InputItem {
  const left = objects(item["tools"]).filter(({ type }, index) => {
    const isSearch = isWebSearch(text(type));
    if (isSearch) onDropped(`${path}.tools.${index}`);
    return !isSearch;
  });
  return { ...item, tools: left };
}

/** The tool choice for the tools left. @returns undefined when it names a tool removed */
function choiceLeft(choice: ToolChoice, isAnyLeft: boolean): ToolChoice | undefined {
  if (typeof choice === "string") return choice === "required" && !isAnyLeft ? undefined : choice;
  if (choice.type === "tool") return isWebSearch(choice.tool.type) ? undefined : choice;
  const tools = choice.tools.filter(({ type }) => !isWebSearch(type));
  return tools.length === 0 ? undefined : { ...choice, tools };
}
