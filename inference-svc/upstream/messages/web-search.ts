/** Web search, which the vendor runs itself (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool). */
import type { HostedTool } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, isObject } from "../json.ts";
import { isWebSearch } from "../offered.ts";
import type { Block } from "./thread.ts";

/** Calls carry this name. */
export const webSearchName = "web_search";

/** The version that all models take; later ones need a sandbox beside the search. */
const version = "web_search_20250305";

/** Whether the provider runs the tool: a search, unless the operator says otherwise. */
export const searches = ({ kind, spelling }: HostedTool, { nativeTools }: Target): boolean =>
  isWebSearch(kind) && (!nativeTools || nativeTools.has(kind) || nativeTools.has(spelling));

const unsaid = ["search_context_size", "engine", "max_results", "mode", "x_search", "external_web_access"];

export function webSearchTool(tool: HostedTool, path: string, lose: Lose): Block {
  const said = JSON.parse(tool.json) as JsonObject;
  for (const field of unsaid) {
    if (said[field] !== undefined && said[field] !== null) lose(`${path}.${field}`, "the provider does not know it");
  }
  return {
    type: version,
    name: webSearchName,
    max_uses: said.max_uses ?? undefined,
    ...domains(isObject(said.filters) ? said.filters : {}, path, lose),
    ...(isObject(said.user_location) && { user_location: { type: "approximate", ...said.user_location } }),
  };
}

/** One of the two lists only. */
function domains(filters: JsonObject, path: string, lose: Lose): JsonObject {
  const allowed = filled(filters.allowed_domains);
  const name = ["blocked_domains", "excluded_domains"].find((field) => filled(filters[field]));
  const blocked = name === undefined ? undefined : filters[name];
  if (!allowed) return { blocked_domains: blocked };
  if (blocked !== undefined) lose(`${path}.filters.${name}`, "the provider takes it only without allowed_domains");
  return { allowed_domains: allowed };
}

const filled = (list: unknown): unknown => (Array.isArray(list) && list.length > 0 ? list : undefined);
