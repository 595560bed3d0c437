/** Refuses requests for tools a key may not use, whether Sluice or a provider runs them. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { isToolSearch, isWebSearch, offeredTools } from "../models/upstream/translate/offered-tools.ts";
import { type Permissions, notPermitted } from "../turn/permissions.ts";
import type { HostedTool, TurnRequest } from "../turn/request.ts";
import { findClientTool } from "./client-tools/client-tools.ts";
import { namedTools, permittedServerName } from "./mcp-entry.ts";
import type { ToolDeps } from "./tool.ts";

/** Tools that run code or commands. */
const runsCode: ReadonlySet<string> = new Set(["bash", "shell", "code_interpreter"]);

/**
 * Checks all tools, engines, servers and models named by the entries of a request. Tools of the client and searches
 * among tools are always allowed.
 * @throws Fault PERMISSION_DENIED naming the permission and the value
 */
export function requirePermittedTools(request: TurnRequest, permissions: Permissions): void {
  for (const { tool } of offeredTools(request)) {
    if (tool.type === "hosted" && !isToolSearch(tool) && !tool.isOfPlugin) requirePermittedTool(tool, permissions);
    else if (tool.type === "function" && tool.anthropicJson !== undefined)
      requireTyped(JSON.parse(tool.anthropicJson) as JsonObject, permissions);
  }
  const { toolsJson } = request.plugins?.fusion ?? {};
  if (toolsJson?.length) requireAll(JSON.parse(textOf(toolsJson)), permissions);
}

/** Checks one tool. @throws Fault PERMISSION_DENIED naming the permission and the value */
const requirePermittedTool = ({ kind, json }: HostedTool, permissions: Permissions): void =>
  requireTool(kind, JSON.parse(json) as JsonObject, permissions);

/** Whether the permissions allow the tool and everything that its entry names. */
export function isPermittedTool(tool: HostedTool, permissions: Permissions): boolean {
  try {
    requirePermittedTool(tool, permissions);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.reason === FaultReason.PERMISSION_DENIED) return false;
    throw error;
  }
}

function requireTool(kind: string, entry: JsonObject, permissions: Permissions): void {
  if (findClientTool(kind)?.open(entry) !== undefined) return;
  const name = permittedToolName(kind);
  requireName(name, permissions);
  if (name === "file_search") requireStores(entry, permissions);
  if (name === "mcp") requireServer(entry, permissions);
  const engine = engineIn(kind, entry);
  if ((name === "web_search" || name === "web_fetch") && isChosen(name, engine)) {
    permissions.require("searchEngines", engine);
  }
  const { parameters, anthropic_type: type } = entry;
  if (typeof type === "string" && anthropicName(type) !== name) requireTyped({ type }, permissions);
  if (isObject(parameters)) requireAll(parameters["tools"], permissions);
}

function requireAll(tools: unknown, permissions: Permissions): void {
  if (!Array.isArray(tools)) return;
  for (const each of tools) {
    if (isObject(each) && typeof each["type"] === "string") requireTool(each["type"], each, permissions);
  }
}

function requireName(name: string, permissions: Permissions): void {
  permissions.require("serverTools", name);
  if (runsCode.has(name)) permissions.require("sandbox", name);
}

/** Matches the types of Anthropic's tools run by the client, and of searches among tools. */
const clientTypes =
  /^(?:custom|(?:bash|text_editor|computer|memory)_\d{8}|tool_search_tool_(?:regex|bm25)(?:_\d{8})?)$/;

const anthropicNames: ReadonlyMap<string, string> = new Map([
  ["code_execution", "code_interpreter"],
  ["mcp_toolset", "mcp"],
]);

/** The name in permissions for a type of Anthropic's tools: the type without the date of its version. */
function anthropicName(type: string): string {
  const withoutDate = type.replace(/_\d{8}$/, "");
  return anthropicNames.get(withoutDate) ?? withoutDate;
}

/** Checks a tool in Anthropic's own form: endpoints that take the form run the tool of its type. */
function requireTyped({ type, mcp_server_name: server = "" }: JsonObject, permissions: Permissions): void {
  if (typeof type !== "string" || clientTypes.test(type)) return;
  const name = anthropicName(type);
  requireName(name, permissions);
  if (name === "web_search") permissions.require("searchEngines", "native");
  if (name === "mcp" && !permissions.allowsWholeServer(String(server))) {
    throw notPermitted("mcpServers", String(server));
  }
}

/** A tool's name without the prefix of a service and the date of a version. */
function permittedToolName(kind: string): string {
  const name = kind.slice(kind.indexOf(":") + 1);
  return isWebSearch(name) ? "web_search" : name;
}

/** Settings of a tool: tools of a service have them in `parameters`, others in the entry itself. */
function settingsIn(kind: string, entry: JsonObject): JsonObject {
  if (!kind.includes(":")) return entry;
  const { parameters } = entry;
  return isObject(parameters) ? parameters : {};
}

/** The engine named by an entry; `auto` when it names none. */
function engineIn(kind: string, entry: JsonObject): string {
  const { engine } = settingsIn(kind, entry);
  return typeof engine === "string" && engine !== "" ? engine : "auto";
}

/** Sluice itself reads pages as `service`, and a provider as `native`: neither is an engine of searches. */
const isChosen = (name: string, engine: string): boolean =>
  engine !== "auto" && (name === "web_search" || (engine !== "service" && engine !== "native"));

function requireStores({ vector_store_ids: ids }: JsonObject, permissions: Permissions): void {
  for (const id of Array.isArray(ids) ? (ids as unknown[]) : []) permissions.require("vectorStores", String(id));
}

function requireServer(entry: JsonObject, permissions: Permissions): void {
  const server = permittedServerName(entry);
  permissions.requireServer(server);
  const refused = namedTools(entry)?.find((name) => !permissions.allowsServerTool(server, name));
  if (refused !== undefined) throw notPermitted("mcpServers", `${server}/${refused}`);
}

/**
 * Withholds tools from providers that could not enforce the permissions: a search without a named engine if the
 * provider's own engine is not allowed, and MCP servers of which only some tools are allowed.
 */
export const permittedDeps = <Deps extends Pick<ToolDeps, "isNative">>(deps: Deps, permissions: Permissions): Deps => ({
  ...deps,
  isNative: (request, tool, beside) => mayBeNative(tool, permissions) && deps.isNative(request, tool, beside),
});

function mayBeNative({ kind, json }: HostedTool, permissions: Permissions): boolean {
  const name = permittedToolName(kind);
  if (name === "web_search") return permissions.allows("searchEngines", "native");
  if (name !== "mcp") return true;
  const entry = JSON.parse(json) as JsonObject;
  return namedTools(entry) !== undefined || permissions.allowsWholeServer(permittedServerName(entry));
}

/**
 * Checks the tools Sluice does not run. @throws Fault PERMISSION_DENIED for a search or an image model left to a
 * provider against the permissions
 */
export function requireLeftTools(tools: readonly HostedTool[], permissions: Permissions): void {
  for (const { kind, json, isOfPlugin } of tools) {
    const name = permittedToolName(kind);
    if (name === "web_search" && !isOfPlugin) permissions.require("searchEngines", "native");
    if (name !== "image_generation") continue;
    const { model } = settingsIn(kind, JSON.parse(json) as JsonObject);
    if (typeof model === "string" && model !== "") permissions.require("models", model);
  }
}
