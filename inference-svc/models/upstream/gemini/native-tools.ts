/**
 * Tools Google runs: Google Search, and reading the pages named in a request
 * (https://ai.google.dev/gemini-api/docs/google-search, https://ai.google.dev/gemini-api/docs/url-context).
 */
import type { HostedTool, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Refusal, Target } from "../dialect.ts";
import { type JsonObject, isObject } from "../json.ts";
import { isToolSearch, isWebSearch, offeredTools } from "../translate/offered-tools.ts";
import type { HostedToolSupport } from "../translate/unsupported-inputs.ts";

const pages = "service:web_fetch";
const kinds: ReadonlySet<string> = new Set([pages, "service:web_search"]);

/**
 * Tells which tools Google runs: Google Search, unless `native_tools` leaves it out. Tools with the prefix `service:`,
 * which Sluice can run itself, run at Google only if `native_tools` lists them.
 */
export function findHostedToolSupport({ nativeTools }: Target): HostedToolSupport {
  const listed = ({ kind, spelling }: HostedTool) =>
    nativeTools?.has(kind) === true || nativeTools?.has(spelling) === true;
  return {
    tool: (tool) =>
      (isWebSearch(tool.kind) && (!nativeTools || listed(tool))) || (kinds.has(tool.kind) && listed(tool)),
    type: (type) => isWebSearch(type) || kinds.has(type),
  };
}

interface Offer {
  readonly path: string;
  readonly tool: HostedTool;
}

const offers = (request: TurnRequest): readonly Offer[] =>
  offeredTools(request).flatMap(({ path, tool, allowed }) =>
    tool.type === "hosted" && allowed && !isToolSearch(tool) ? [{ path, tool }] : [],
  );

/**
 * Refuses searches Google cannot run as requested: it cannot limit a search to domains, and with functions in the
 * request, the results of a search would be lost in the next turn.
 */
export function refuseNativeTools(request: TurnRequest): Refusal | undefined {
  const functions = offeredTools(request).some(({ tool, allowed }) => tool.type !== "hosted" && allowed);
  for (const { path, tool } of offers(request)) {
    if (functions)
      return { path, message: `no provider of this model runs tools of type ${tool.spelling} beside functions` };
    const at = domainsIn(parseSettings(tool));
    if (at !== undefined)
      return { path: `${path}.${at}`, message: "no provider of this model takes a list of domains" };
  }
  return undefined;
}

export function nativeTools(request: TurnRequest, onDropped: OnDropped): readonly JsonObject[] {
  if (request.toolChoice === "none") return [];
  const tools = offers(request).map(({ path, tool }) => {
    for (const field of unsaidIn(parseSettings(tool))) onDropped(`${path}.${field}`, "the provider does not know it");
    return tool.kind === pages ? "urlContext" : "googleSearch";
  });
  return [...new Set(tools)].map((name) => ({ [name]: {} }));
}

const parseSettings = (tool: HostedTool): JsonObject => JSON.parse(tool.json) as JsonObject;

const lists = ["allowed_domains", "blocked_domains", "excluded_domains"];

/** Path of a domain list in a tool: it may stand in the tool itself, or in a group of its settings. @returns undefined without one */
function domainsIn(tool: JsonObject): string | undefined {
  for (const group of ["filters", "parameters"]) {
    const inner = tool[group];
    const list = isObject(inner) ? lists.find((name) => filled(inner[name])) : undefined;
    if (list !== undefined) return `${group}.${list}`;
  }
  return undefined;
}

const filled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;

function unsaidIn(tool: JsonObject): readonly string[] {
  const set = ([field, value]: readonly [string, unknown]) =>
    !["type", "filters", "parameters"].includes(field) && value !== undefined && value !== null;
  const inner = isObject(tool.parameters) ? Object.entries(tool.parameters).filter(([, value]) => value !== null) : [];
  return [
    ...Object.entries(tool)
      .filter(set)
      .map(([field]) => field),
    ...inner.filter(([field]) => !lists.includes(field)).map(([field]) => `parameters.${field}`),
  ];
}
