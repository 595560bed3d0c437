/**
 * Web search, page fetches and code execution Anthropic runs
 * (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool, …/web-fetch-tool and
 * …/code-execution-tool).
 */
import type { HostedTool, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type OfferedTool, isToolSearch, isWebSearch, offeredTools } from "../translate/offered-tools.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import { codeExecutionName, webFetchName, webSearchName } from "../translate/blocks/tools.ts";

/** Versions of the tools that all models support, for clients that name none; later versions of the search need a sandbox as well. */
const searchVersion = "web_search_20250305";
const fetchVersion = "web_fetch_20250910";
const codeVersion = "code_execution_20250825";

const codeInterpreter = "code_interpreter";
const webFetch = "service:web_fetch";

/**
 * Whether the provider runs the tool: web search unless `native_tools` leaves it out; code at Anthropic itself, or if
 * `native_tools` has it; a page fetch if clients of the Messages API named Anthropic's tool.
 */
export const runsHosted = (tool: HostedTool, target: Target): boolean =>
  runsWebSearch(tool, target) || (tool.kind === codeInterpreter && runsCode(target)) || runsFetch(tool, target);

/** Whether a tool choice may name this type of tool. */
export const isHosted = (type: string): boolean => isWebSearch(type) || type === codeInterpreter || type === webFetch;

const runsCode = ({ nativeTools, original }: Target): boolean => nativeTools?.has(codeInterpreter) ?? original;

const runsFetch = ({ kind, spelling, json }: HostedTool, { nativeTools, original }: Target): boolean => {
  if (kind !== webFetch) return false;
  if (nativeTools) return nativeTools.has(kind) || nativeTools.has(spelling);
  return original && json.includes('"anthropic_type":"web_fetch_');
};

/** Type of the items for fetched pages. */
export function fetchedPageType(request: TurnRequest): string {
  for (const { tool } of offeredTools(request))
    if (tool.type === "hosted" && tool.kind === webFetch) return tool.spelling;
  return webFetch;
}

const runsWebSearch = ({ kind, spelling }: HostedTool, { nativeTools }: Target): boolean =>
  isWebSearch(kind) && (!nativeTools || nativeTools.has(kind) || nativeTools.has(spelling));

const unsupportedSettings = [
  "search_context_size",
  "engine",
  "max_results",
  "max_total_results",
  "max_characters",
  "mode",
  "x_search",
  "external_web_access",
];

const none: readonly Block[] = [];

/** Anthropic's search among deferred tools, if a client of the Messages API named it. */
export function findToolSearch(request: TurnRequest, { nativeTools, original }: Target): OfferedTool | undefined {
  if (!original || (nativeTools && !nativeTools.has("service:tool_search"))) return undefined;
  return offeredTools(request).find(
    ({ tool, allowed }) => allowed && isToolSearch(tool) && tool.json.includes('"anthropic_type":"tool_search_tool_'),
  );
}

export function toolSearchBlock({ tool }: OfferedTool): Block {
  const type = text((JSON.parse((tool as HostedTool).json) as JsonObject).anthropic_type);
  return { type, name: type.replace(/_\d{8}$/, "") };
}

/**
 * Declares the provider's own tools.
 * @param takesVersions whether the endpoint knows every version of them
 */
export function toNativeTools(request: TurnRequest, takesVersions: boolean, onDropped: OnDropped): readonly Block[] {
  let blocks = none;
  for (const { tool, path, allowed } of offeredTools(request)) {
    if (tool.type !== "hosted" || !allowed || !isHosted(tool.kind)) continue;
    const known = toNativeTool(tool, path, onDropped);
    const block: Block = { ...known, type: versionOf(tool, known.type, takesVersions, path, onDropped) };
    if (!blocks.some(({ name }) => name === block.name)) blocks = [...blocks, block];
  }
  return blocks;
}

function toNativeTool(tool: HostedTool, path: string, onDropped: OnDropped): Block {
  if (tool.kind === webFetch) return toWebFetchTool(tool, path, onDropped);
  return isWebSearch(tool.kind) ? toWebSearchTool(tool, path, onDropped) : codeTool(tool, path, onDropped);
}

function toWebFetchTool({ json }: HostedTool, path: string, onDropped: OnDropped): Block {
  const { parameters, citations } = JSON.parse(json) as JsonObject;
  const settings = isObject(parameters) ? parameters : {};
  return {
    type: fetchVersion,
    name: webFetchName,
    max_uses: settings.max_uses,
    max_content_tokens: settings.max_content_tokens,
    ...domains(settings, `${path}.parameters`, onDropped),
    citations,
  };
}

function versionOf(
  { json }: HostedTool,
  usual: string,
  takesVersions: boolean,
  path: string,
  onDropped: OnDropped,
): string {
  const named = text((JSON.parse(json) as JsonObject).anthropic_type);
  if (named === "" || named === usual) return usual;
  if (takesVersions) return named;
  onDropped(`${path}.anthropic_type`, `sent as ${usual}: the endpoint is not known to take later versions`);
  return usual;
}

function codeTool({ json }: HostedTool, path: string, onDropped: OnDropped): Block {
  const { container } = JSON.parse(json) as JsonObject;
  for (const field of ["file_ids", "memory_limit", "network_policy"]) {
    if (isObject(container) && container[field] !== undefined && container[field] !== null)
      onDropped(`${path}.container.${field}`, "the provider does not know it");
  }
  return { type: codeVersion, name: codeExecutionName };
}

/** The request's tool for running code. @returns undefined without one */
function findCodeTool(request: TurnRequest): HostedTool | undefined {
  for (const { tool } of offeredTools(request))
    if (tool.type === "hosted" && tool.kind === codeInterpreter) return tool;
  return undefined;
}

/** Whether the provider is requested to run code, which needs the name of a beta feature. */
export const requestsCodeExecution = (request: TurnRequest): boolean => findCodeTool(request) !== undefined;

/** Id of the container in which code ran in earlier turns; undefined for a new container. */
export function namedContainer(request: TurnRequest): string | undefined {
  const tool = findCodeTool(request);
  const container: unknown = tool && (JSON.parse(tool.json) as JsonObject).container;
  return typeof container === "string" ? container : undefined;
}

function toWebSearchTool(tool: HostedTool, path: string, onDropped: OnDropped): Block {
  const settings = JSON.parse(tool.json) as JsonObject;
  for (const field of unsupportedSettings) {
    if (settings[field] !== undefined && settings[field] !== null)
      onDropped(`${path}.${field}`, "the provider does not know it");
  }
  return {
    type: searchVersion,
    name: webSearchName,
    max_uses: settings.max_uses ?? undefined,
    ...domains(isObject(settings.filters) ? settings.filters : {}, `${path}.filters`, onDropped),
    ...(isObject(settings.user_location) && { user_location: { type: "approximate", ...settings.user_location } }),
  };
}

/** Domain filters of a search. Anthropic takes either allowed or blocked domains, but not both. */
function domains(filters: JsonObject, path: string, onDropped: OnDropped): JsonObject {
  const allowed = filled(filters.allowed_domains);
  const name = ["blocked_domains", "excluded_domains"].find((field) => filled(filters[field]));
  const blocked = name === undefined ? undefined : filters[name];
  if (!allowed) return { blocked_domains: blocked };
  if (blocked !== undefined) onDropped(`${path}.${name}`, "the provider takes it only without allowed_domains");
  return { allowed_domains: allowed };
}

const filled = (list: unknown): unknown => (Array.isArray(list) && list.length > 0 ? list : undefined);
