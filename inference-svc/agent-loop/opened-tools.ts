/** The server tools of one request, opened under their function names. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { bareRequest } from "../turn/bare-request.ts";
import type { HostedTool, Tool, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { offeredTools } from "../models/upstream/translate/offered-tools.ts";
import { withItemTools } from "./item-tools.ts";
import { findClientTool } from "./client-tools/client-tools.ts";
import { permittedDeps } from "./permitted-tools.ts";
import { withProviderSearch } from "./provider-search.ts";
import { type Offer, type OpenTool, type ServerTool, type ToolDeps, freeName } from "./tool.ts";
import type { ToolSourceDeps } from "./tool-source.ts";

/** Offers by the request's entry for their tool. */
export type Offers = ReadonlyMap<HostedTool, readonly Offer[]>;

interface OwnTools {
  /** The request, including hosted tools from its items. */
  readonly request: TurnRequest;
  readonly kinds: ReadonlyMap<string, ServerTool>;
  readonly offers: Offers;
  /** Whether a tool of Sluice was converted to a tool of the provider. */
  readonly isConverted: boolean;
  /** Names of functions already in use. */
  readonly taken: Set<string>;
}

/** Opens the server tools of a request. @throws Fault INVALID_REQUEST for settings a tool cannot honor */
export function openOwnTools(given: TurnRequest, scope: Scope, parts: ToolSourceDeps): OwnTools {
  const kinds = new Map(parts.tools.flatMap((tool) => tool.kinds.map((kind) => [kind, tool] as const)));
  const isNativeIn = (entry: HostedTool, request: TurnRequest) =>
    parts.isNative(request, entry, otherFunctions(entry, request, kinds, parts));
  const isKnown = ({ kind }: HostedTool) => kinds.has(kind) || findClientTool(kind) !== undefined;
  const searching = withProviderSearch(given, isNativeIn);
  const request = withItemTools(
    searching,
    (tool) => isTakenBySource(tool, searching, parts) || (isKnown(tool) && !isNativeIn(tool, searching)),
  );
  const taken = new Set(request.tools.flatMap((tool) => (tool.type === "hosted" ? [] : [tool.name])));
  const offers = new Map<HostedTool, readonly Offer[]>();
  for (const [index, entry] of request.tools.entries()) {
    const tool = entry.type === "hosted" ? kinds.get(entry.kind) : undefined;
    if (entry.type !== "hosted" || tool === undefined) continue;
    const fields = JSON.parse(entry.json) as JsonObject;
    const isNative = () => isNativeIn(entry, request);
    if (!(tool.takes?.(fields, isNative, request) ?? !isNative())) continue;
    const path = entry.path ?? `tools.${index}`;
    const open = tool.open({ parameters: parametersIn(fields), entry: fields, path, request, scope });
    offers.set(entry, open ? [offerOf(tool, open, entry, freeName(nameOf(tool), taken))] : []);
  }
  return { request, kinds, offers, taken, isConverted: searching !== given };
}

function isTakenBySource(entry: HostedTool, request: TurnRequest, { sources, isNative }: ToolSourceDeps): boolean {
  const source = sources.find(({ kinds }) => kinds.includes(entry.kind));
  return source?.takes(JSON.parse(entry.json) as JsonObject, () => isNative(request, entry)) ?? false;
}

function offerOf(tool: ServerTool, open: OpenTool, { spelling }: HostedTool, name: string): Offer {
  // Items carry the client's spelling of the prefix.
  const type = spelling.includes(":") ? spelling : tool.kinds[0];
  const items = tool.items ?? { type, idPrefix: "st_", failedStatus: "incomplete" };
  return { tool, open, name, spelling, items };
}

/** The functions sent to a provider together with a native tool: the client's, and those that represent Sluice's tools. */
const otherFunctions = (
  entry: HostedTool,
  request: TurnRequest,
  found: ReadonlyMap<string, ServerTool>,
  { isNative, sources }: ToolSourceDeps,
): readonly Tool[] =>
  offeredTools(request).flatMap(({ tool }): Tool[] => {
    if (tool.type !== "hosted") return [tool];
    const isKnown = found.has(tool.kind) || sources.some(({ kinds }) => kinds.includes(tool.kind));
    const isOther = tool.kind !== entry.kind && isKnown && !isNative(request, tool);
    return isOther ? [{ type: "function", name: "other", parametersJson: "null", json: "{}" }] : [];
  });

/** Whether each of the models can use the tool, from Sluice or from its own provider. */
export function canOfferTool(tool: HostedTool, models: readonly string[], scope: Scope, parts: ToolDeps): boolean {
  const { permissions } = scope;
  const { isNative } = permissions ? permittedDeps(parts, permissions) : parts;
  return models.every((model) => {
    const request = bareRequest({ models: [model], tools: [tool] });
    return isNative(request, tool) || isOurs(tool, request, scope, parts);
  });
}

function isOurs(entry: HostedTool, request: TurnRequest, scope: Scope, { tools }: ToolDeps): boolean {
  const tool = tools.find(({ kinds }) => kinds.includes(entry.kind));
  try {
    const fields = JSON.parse(entry.json) as JsonObject;
    return tool?.open({ parameters: parametersIn(fields), entry: fields, path: "tools", request, scope }) !== undefined;
  } catch {
    // The tool is unavailable: a setting it needs is missing from the configuration.
    return false;
  }
}

const parametersIn = ({ parameters }: JsonObject): JsonObject => (isObject(parameters) ? parameters : {});

/** Colons are not allowed in function names. */
const nameOf = ({ kinds: [kind] }: ServerTool): string => kind.replace(":", "_");
