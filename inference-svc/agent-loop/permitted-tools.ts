/** Refuses requests for tools that a key may not use, whether Sluice or a provider runs them. */
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
 * Checks everything that the entries of a request name. Tools of the client and searches among tools pass.
 * @throws Fault PERMISSION_DENIED naming the permission and the value
 */
export function requirePermittedTools(request: TurnRequest, permissions: Permissions): void {
  for (const { tool } of offeredTools(request)) {
    if (tool.type !== "hosted" || isToolSearch(tool) || tool.isOfPlugin) continue;
    requireTool(tool.kind, JSON.parse(tool.json) as JsonObject, permissions);
  }
}

function requireTool(kind: string, entry: JsonObject, permissions: Permissions): void {
  if (findClientTool(kind)?.open(entry) !== undefined) return;
  const name = permittedToolName(kind);
  permissions.require("serverTools", name);
  if (runsCode.has(name)) permissions.require("sandbox", name);
  if (name === "file_search") requireStores(entry, permissions);
  if (name === "mcp") requireServer(entry, permissions);
  const engine = engineIn(entry);
  if ((name === "web_search" || name === "web_fetch") && isChosen(name, engine)) {
    permissions.require("searchEngines", engine);
  }
  const { parameters } = entry;
  const inner: unknown = isObject(parameters) ? parameters["tools"] : undefined;
  if (!Array.isArray(inner)) return;
  for (const each of inner) {
    if (isObject(each) && typeof each["type"] === "string") requireTool(each["type"], each, permissions);
  }
}

/** A tool's name without the prefix of a service and the date of a version. */
function permittedToolName(kind: string): string {
  const name = kind.slice(kind.indexOf(":") + 1);
  return isWebSearch(name) ? "web_search" : name;
}

/** The engine that an entry names; `auto` when it leaves the choice. */
function engineIn(entry: JsonObject): string {
  const { parameters } = entry;
  const engine = entry["engine"] ?? (isObject(parameters) ? parameters["engine"] : undefined);
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
 * Leaves no tool to a provider that could not hold it to the permissions: a search without a named engine, where the provider's own is not allowed, and MCP
 * servers of which only some tools are.
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

/** @throws Fault PERMISSION_DENIED for a search left to a provider against the permissions */
export function requireNativeSearch(tools: readonly HostedTool[], permissions: Permissions): void {
  for (const { kind, isOfPlugin } of tools) {
    if (permittedToolName(kind) === "web_search" && !isOfPlugin) permissions.require("searchEngines", "native");
  }
}
