/** The plugin `web`, and the variant `:online` of a model: searches the web for what the user said last, and gives what it finds to the model. */
import { create } from "@bufbuild/protobuf";
import { type WebPlugin, WebPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { type Look, alone } from "../../guardrails/added.ts";
import type { Catalog, Endpoint } from "../../routing/catalog.ts";
import type { Telling } from "../../routing/candidates.ts";
import { beginningOf } from "../../turn/cut.ts";
import type { HostedTool, InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { type Hit, NoSearch, type Search, SearchEngine } from "../../web/search.ts";
import { missingEngine } from "../../web/missing-engine.ts";
import type { Web } from "../../web/web.ts";
import { dataItem, saidByUser, withData } from "./data.ts";
import { nativeTool, withTool } from "./native.ts";

const suffix = ":online";
const usualResults = 5;
/** Engines refuse longer questions, or read no more of them. Code points. */
const longestQuery = 400;
/** UTF-16 units: an engine shows some sentences of a page. */
const longestContent = 5_000;

export const isOnline = (model: string): boolean => model.endsWith(suffix);

/** The variant stands for the plugin; a slug of the catalogue is what it says. */
export const online = (catalog: Catalog): Layer =>
  onRequest((request) => {
    const isMeant = (model: string) => isOnline(model) && catalog.find(model) === undefined;
    if (!request.models.some(isMeant)) return request;
    const models = request.models.map((model) => (isMeant(model) ? model.slice(0, -suffix.length) : model));
    return { ...request, models: [...new Set(models)], plugins: { web: create(WebPluginSchema), ...request.plugins } };
  });

export interface WebSearchParts {
  readonly web: Web;
  /** Who would be asked. */
  readonly route: (request: TurnRequest, scope: Scope) => readonly Endpoint[];
  readonly telling: Telling;
  readonly look: Look;
}

/** @throws Fault INVALID_REQUEST where nobody can search */
export const webSearch = (parts: WebSearchParts): Layer =>
  onRequest((request, scope) => {
    const settings = request.plugins?.web;
    if (settings === undefined) return request;
    const searcher = searcherOf(settings, request, scope, parts);
    return searcher instanceof SearchEngine
      ? searched(request, scope, { ...parts, settings, engine: searcher })
      : withTool(request, searcher);
  });

/** Who searches: an engine, or the provider by a tool of its own. */
function searcherOf(
  settings: WebPlugin,
  request: TurnRequest,
  scope: Scope,
  { web, route, telling }: WebSearchParts,
): SearchEngine | HostedTool {
  const { engine: name } = settings;
  const isFree = name === "" || name === "auto";
  const engine = web.engine(isFree ? "" : name);
  if (name !== "native" && !isFree) return engine ?? nobody(`web: ${missingEngine(name)}`);
  const tool = nativeTool(settings);
  const asked = { ...alone(request, [{ type: "message", role: "user", content: "" }]), tools: [tool] };
  const takes = (endpoint: Endpoint) => telling.refusal(endpoint, asked) === undefined && !isLost(endpoint);
  // A format may have no words for the tool, or for where it is to search.
  const isLost = (endpoint: Endpoint) =>
    telling.losses(endpoint, asked).some(({ path }) => path === "tools.0" || path.startsWith("tools.0.filters"));
  const endpoints = route(request, scope);
  // With an engine at hand nobody else is asked for the sake of a tool.
  if ((isFree && engine ? endpoints.slice(0, 1) : endpoints).some(takes)) return tool;
  if (isFree && engine) return engine;
  return nobody(
    isFree
      ? "web: the provider does not search by itself, and search.engines.searxng is not in the configuration file"
      : "web: no provider of the model searches by itself, in these domains",
  );
}

function nobody(says: string): never {
  const problems = new Problems();
  problems.add("plugins", says);
  problems.throwIfAny();
  throw new Error(says);
}

interface Searching extends WebSearchParts {
  readonly settings: WebPlugin;
  readonly engine: SearchEngine;
}

async function searched(request: TurnRequest, scope: Scope, searching: Searching): Promise<TurnRequest> {
  const { settings, engine, web, look } = searching;
  const note = (summary: string, more: object) =>
    void scope.trace.stages.push(stageOf(summary, { engine: engine.id, ...more }));
  const query = queryOf(request.input);
  if (query === "") {
    note("Not searched: the user has said nothing", { queries: [], results: 0 });
    return request;
  }
  if (scope.dryRun) {
    note("Not searched: a dry run asks nobody", { action: "not_run", queries: [query] });
    return request;
  }
  const { maxResults = usualResults, includeDomains: allowed, excludeDomains: blocked } = settings;
  const search: Search = { query, maxResults, domains: { allowed, blocked } };
  let hits: readonly Hit[];
  try {
    hits = await web.search(engine, search, scope.signal);
  } catch (error) {
    if (!(error instanceof NoSearch)) throw error;
    note(`Error: ${error.message}`, { action: "error", queries: [query], results: 0 });
    return request;
  }
  note(hits.length === 1 ? "1 result" : `${hits.length} results`, { queries: [query], results: hits.length });
  if (hits.length === 0) return request;
  const found = await look([dataItem(introOf(settings), hits.map(entryOf))], request, scope);
  return { ...request, input: withData(request.input, found), sources: [...(request.sources ?? []), ...hits] };
}

function queryOf(input: readonly InputItem[]): string {
  const [last = ""] = saidByUser(input);
  return Array.from(last.replaceAll(/\s+/g, " ").trim()).slice(0, longestQuery).join("");
}

const citing =
  "Use what helps to answer, and say where it is from by links of Markdown, named by the domain: [example.com](https://example.com/page).";

function introOf({ searchPrompt = citing }: WebPlugin): string {
  const today = new Date().toISOString().slice(0, 10);
  return `The web was searched on ${today} for what the user says next. ${searchPrompt}`;
}

const entryOf = ({ url, title, content }: Hit, index: number): string =>
  [`${index + 1}. ${title}`.trimEnd(), url, beginningOf(content, longestContent), ""].join("\n");

const stageOf = (summary: string, data: object): Stage => ({
  type: "plugin",
  name: "web-search",
  summary,
  data: { ...data },
});
