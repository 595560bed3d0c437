/** The plugin `web`, and the variant `:online` of a model: searches the web for the user's last message, and adds the results to the request. */
import { create } from "@bufbuild/protobuf";
import { type WebPlugin, WebPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { requestWithItems } from "../../turn/scan-added.ts";
import type { Endpoint } from "../../models/routing/catalog.ts";
import type { Permissions } from "../../turn/permissions.ts";
import { truncate } from "../../turn/truncate.ts";
import type { HostedTool, InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { Layer } from "../../turn/turn.ts";
import type { SearchEngine } from "./search-engine.ts";
import { explainMissingEngine } from "./missing-engine.ts";
import { type SearchOptions, listUnsupportedOptions } from "./search-options.ts";
import { annotateCitations } from "./citations.ts";
import { dataItem, latestUserTexts, insertData } from "./inserted-data.ts";
import { nativeTool, withTool } from "./native-tool.ts";
import { type SearchHit, SearchUnavailable } from "../../services/search-answers.ts";
import type { CallingFeature, DryKit, Feature, Kit } from "../kit.ts";
import { withoutOnline } from "../slugs.ts";
import { applies } from "../applies.ts";

const defaultResults = 5;
/** Maximum code points of a query; engines reject longer ones, or ignore the rest. */
const maxQueryLength = 400;
/** Maximum UTF-16 units of each result; engines return some sentences of a page. */
const maxContentLength = 5_000;

/** Feature that replaces the variant `:online` with the plugin, unless the catalogue has a model of exactly this name. */
export const onlineVariant: Feature = {
  id: "web",
  applies: applies.onlineVariant,
  layer: ({ router: { catalog } }) =>
    requestLayer((request, scope) => {
      const models = request.models.map((model) => withoutOnline(model, catalog));
      if (models.every((model, index) => model === request.models[index])) return request;
      scope.permissions?.require("plugins", "web");
      const plugins = { web: create(WebPluginSchema), ...request.plugins };
      return { ...request, models: [...new Set(models)], plugins };
    }),
};

/** Feature that searches, or leaves the search to a provider that has its own. */
export const webSearch: CallingFeature = {
  id: "web",
  applies: applies.webSearch,
  layer: (kit) => searching(kit, kit.web.engine.bind(kit.web), (query, found) => searched(query, found, kit)),
  dryRun: (kit) =>
    searching(kit, kit.searchEngine, (query, { engine, request, scope }) => {
      noteSearch(scope, engine, "Not searched: a dry run searches nothing", { action: "not_run", queries: [query] });
      return request;
    }),
  texts: ({ web }) => (web ? placesOf(web).map((text) => ({ text })) : []),
};

/** Feature that converts citations to annotations of the answer. */
export const citationsFeature: Feature = {
  id: "web",
  applies: applies.citations,
  layer: () => annotateCitations,
};

/** Domains and locations in the settings of a search, for guardrails: search engines and providers receive them. */
function placesOf({ includeDomains, excludeDomains, userLocation }: WebPlugin): readonly string[] {
  const { city = "", country = "", region = "", timezone = "" } = userLocation ?? {};
  return [...includeDomains, ...excludeDomains, city, country, region, timezone];
}

type Engine = Pick<SearchEngine, "id" | "knows">;

interface Searching<Found extends Engine> {
  readonly settings: WebPlugin;
  readonly engine: Found;
  readonly request: TurnRequest;
  readonly scope: Scope;
}

type Search<Found extends Engine> = (query: string, found: Searching<Found>) => TurnRequest | Promise<TurnRequest>;

/**
 * Layer that searches. @param engineOf finds an engine by name, or the default engine @throws Fault INVALID_REQUEST
 * when neither an engine nor a provider can search
 */
const searching = <Found extends Engine>(kit: DryKit, engineOf: FindEngine<Found>, search: Search<Found>): Layer =>
  requestLayer((request, scope) => {
    const settings = request.plugins?.web;
    if (settings === undefined) return request;
    const searcher = findSearcher(settings, request, scope, {
      engineOf,
      router: kit.router,
      toProviderRequest: kit.toProviderRequest,
      dialects: kit.dialects,
    });
    if ("kind" in searcher) return withTool(request, searcher);
    scope.trace.noteKeptBack(listUnsupportedOptions(wishesIn(settings), searcher, "plugins.web"));
    const query = queryOf(request.input);
    if (query !== "") return search(query, { settings, engine: searcher, request, scope });
    noteSearch(scope, searcher, "Not searched: the user has said nothing", { queries: [], results: 0 });
    return request;
  });

type FindEngine<Found extends Engine> = (name: string, permissions?: Permissions) => Found | undefined;

interface SearcherParts<Found extends Engine> extends Pick<DryKit, "router" | "toProviderRequest" | "dialects"> {
  readonly engineOf: FindEngine<Found>;
}

/** The engine for a search, or the tool with which a provider searches itself. */
function findSearcher<Found extends Engine>(
  settings: WebPlugin,
  request: TurnRequest,
  scope: Scope,
  { engineOf, router, toProviderRequest, dialects }: SearcherParts<Found>,
): Found | HostedTool {
  const { engine: name } = settings;
  const isFree = name === "" || name === "auto";
  const { permissions } = scope;
  if (!isFree) permissions?.require("searchEngines", name);
  const engine = engineOf(isFree ? "" : name, permissions);
  if (name !== "native" && !isFree) return engine ?? refuse(`web: ${explainMissingEngine(name)}`);
  const tool = nativeTool(settings);
  const prepared = toProviderRequest(request, scope);
  // Some providers accept functions or their search tool, but not both.
  const functions = prepared.tools.filter(({ type }) => type !== "hosted");
  const searchRequest = {
    // Some formats reject a request without text, so one is added for the check.
    ...requestWithItems(request, [{ type: "message", role: "user", content: "Hello" }]),
    tools: [tool, ...functions],
  };
  const mayBeNative = permissions?.allows("searchEngines", "native") !== false;
  const takes = (endpoint: Endpoint) =>
    mayBeNative && dialects.refusal(endpoint, searchRequest) === undefined && !isLost(endpoint);
  // The endpoint's dialect may be unable to express the tool, or the domains in it.
  const isLost = (endpoint: Endpoint) =>
    dialects
      .droppedFields(endpoint, searchRequest)
      .some(({ path }) => path === "tools.0" || path.startsWith("tools.0.filters"));
  const endpoints = router.route(prepared, scope);
  // If an engine is configured, only the first endpoint counts: no other endpoint is preferred for its search tool.
  if ((isFree && engine ? endpoints.slice(0, 1) : endpoints).some(takes)) return tool;
  if (isFree && engine) return engine;
  if (permissions && isFree) requireEngine(permissions, engineOf("")?.id);
  return refuse(
    isFree
      ? "web: the provider does not search by itself, and search.engines of the configuration file has no engine"
      : "web: no provider of the model searches by itself, in these domains",
  );
}

/**
 * Refuses a search without an engine if permissions are the cause. @throws Fault PERMISSION_DENIED when nothing can
 * search because of a permission
 */
function requireEngine(permissions: Permissions, id: string | undefined): void {
  if (id !== undefined) permissions.require("searchEngines", id);
  permissions.require("searchEngines", "native");
}

function refuse(says: string): never {
  const problems = new Problems();
  problems.add("plugins", says);
  problems.throwIfAny();
  throw new Error(says);
}

async function searched(
  query: string,
  { settings, engine, request, scope }: Searching<SearchEngine>,
  { web, scan }: Pick<Kit, "web" | "scan">,
): Promise<TurnRequest> {
  const { maxResults = defaultResults, includeDomains: allowed, excludeDomains: blocked } = settings;
  let hits: readonly SearchHit[];
  try {
    const wishes = wishesIn(settings);
    const search = { query, maxResults, domains: { allowed, blocked }, contentLength: maxContentLength, wishes };
    hits = await web.search(engine, search, { scope, signal: scope.signal });
  } catch (error) {
    if (!(error instanceof SearchUnavailable)) throw error;
    noteSearch(scope, engine, `Error: ${error.message}`, { action: "error", queries: [query], results: 0 });
    return request;
  }
  const summary = hits.length === 1 ? "1 result" : `${hits.length} results`;
  noteSearch(scope, engine, summary, { queries: [query], results: hits.length });
  if (hits.length === 0) return request;
  const found = await scan([dataItem(introOf(settings), hits.map(entryOf))], request, scope);
  return { ...request, input: insertData(request.input, found), sources: [...(request.sources ?? []), ...hits] };
}

/** The search options of the plugin's settings, in which empty strings mean absent values. */
function wishesIn({ userLocation, mode, xSearchJson }: WebPlugin): SearchOptions {
  const { city = "", country = "", region = "", timezone = "" } = userLocation ?? {};
  const place = Object.entries({ city, country, region, timezone }).filter(([, value]) => value !== "");
  return {
    ...(place.length > 0 && { place: Object.fromEntries(place) }),
    ...(mode !== undefined && mode !== "" && { mode }),
    ...(xSearchJson.length > 0 && { others: ["x_search"] }),
  };
}

function queryOf(input: readonly InputItem[]): string {
  const [last = ""] = latestUserTexts(input);
  return Array.from(last.replaceAll(/\s+/g, " ").trim()).slice(0, maxQueryLength).join("");
}

const citing =
  "Use what helps to answer, and say where it is from by links of Markdown, named by the domain: [example.com](https://example.com/page).";

function introOf({ searchPrompt = citing }: WebPlugin): string {
  const today = new Date().toISOString().slice(0, 10);
  return `The web was searched on ${today} for what the user says next. ${searchPrompt}`;
}

const entryOf = ({ url, title, content }: SearchHit, index: number): string =>
  [`${index + 1}. ${title}`.trimEnd(), url, truncate(content, maxContentLength), ""].join("\n");

function noteSearch({ trace }: Scope, { id: engine }: Engine, summary: string, data: object): void {
  trace.stages.push({ type: "plugin", name: "web-search", summary, data: { engine, ...data } });
}
