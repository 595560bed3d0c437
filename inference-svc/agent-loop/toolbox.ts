/** The server tools of one request, offered to the model as functions. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { offeredTools } from "../models/upstream/translate/offered-tools.ts";
import type { CallableTool, HostedTool, Tool, ToolReference, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type DeferredTool, findEarlierCalledTools, loadedTools, choosableTools } from "./deferred-tools.ts";
import { restoreEarlierCalls } from "./loop/earlier-calls.ts";
import type { CalledTool } from "./loop/model-answer.ts";
import { type ClientTools, findClientTools } from "./client-tools/client-tools.ts";
import { type RequestSources, openSources, restoreSourceItems, sourceOffers } from "./request-sources.ts";
import { type Offers, openOwnTools } from "./opened-tools.ts";
import { permittedDeps, requireLeftTools } from "./permitted-tools.ts";
import { toProviderRequest } from "./sent-request.ts";
import type { Offer } from "./tool.ts";
import type { AllowedCall, ToolSourceDeps } from "./tool-source.ts";
import { mayUseTools } from "../turn/item-kinds.ts";

interface ToolboxParts extends Pick<Toolbox, "declared" | "sources" | "allowed" | "waiting"> {
  readonly loaded: readonly CallableTool[];
  readonly held: readonly DeferredTool[];
}

export class Toolbox {
  /** Offered tools by function name. */
  readonly offers: ReadonlyMap<string, Offer>;
  /** Client tools by function name. */
  readonly clientTools: ClientTools["byName"];
  /** The client's request, including hosted tools from its items. */
  readonly declared: TurnRequest;
  /** The request for the first call of a provider. */
  readonly request: TurnRequest;
  /** Suspended calls of an earlier response, continued before the first call of the model. */
  readonly waiting: readonly CalledTool[];
  /** Services with tools in the request. */
  readonly sources: RequestSources;
  /** Calls approved by the client since the earlier response. */
  readonly allowed: readonly AllowedCall[];
  /** Deferred tools already found. */
  readonly #loaded: Set<CallableTool>;
  readonly #held: readonly DeferredTool[];
  /** All tools of the request, including deferred tools. */
  readonly #tools: readonly Tool[];
  /** The tools named by the client's tool choice. */
  readonly #allowed: readonly ToolReference[];

  private constructor(
    offers: readonly Offer[],
    clientTools: ClientTools["byName"],
    all: TurnRequest,
    { declared, loaded, held, sources, allowed, waiting }: ToolboxParts,
  ) {
    this.declared = declared;
    this.sources = sources;
    this.allowed = allowed;
    this.waiting = waiting;
    this.offers = new Map(offers.map((offer) => [offer.name, offer]));
    this.clientTools = clientTools;
    this.#tools = all.tools;
    this.#held = held;
    this.#loaded = new Set(loaded);
    this.#allowed = allowedIn(all) ?? [];
    this.request = this.#known(all);
    if (held.length > 0 && allowedIn(this.request)?.length === 0) {
      throw invalid("tool_choice.tools", "names only tools that are deferred, and no search that could find them");
    }
  }

  /**
   * @param listed sources with listed tools; absent before listing
   * @returns undefined when the request has no tool or item of Sluice, and no client tool
   * @throws Fault INVALID_REQUEST for settings a tool cannot honor, PERMISSION_DENIED for a tool left to a provider
   * against the permissions
   */
  static of(given: TurnRequest, scope: Scope, all: ToolSourceDeps, listed?: RequestSources): Toolbox | undefined {
    if (!mayUseTools(given)) return undefined;
    const { permissions } = scope;
    const parts = permissions ? permittedDeps(all, permissions) : all;
    const { request, kinds, offers: own, taken, isConverted } = openOwnTools(given, scope, parts);
    if (permissions) requireLeftTools(leftTools(request, own), permissions);
    const sources = listed ?? openSources(request, scope, parts);
    const ofSources = sourceOffers(sources, taken);
    const { input: known, allowed } = restoreSourceItems(request.input, sources, ofSources);
    const earlier = { ...parts, tools: kinds, offers: [...own.values()].flat() };
    const past = restoreEarlierCalls({ ...request, input: known }, scope, earlier);
    const client = findClientTools(request.tools);
    const offers = new Map([...own, ...ofSources]);
    const isAsGiven = offers.size === 0 && past === undefined && client.byName.size === 0;
    if (isAsGiven && !isConverted) return undefined;
    const { input, loaded, waiting } = past ?? { input: known, loaded: [], waiting: [] };
    const open = [...offers.values()].flat();
    const held = open.flatMap((offer) => offer.open.finds ?? []);
    return new Toolbox(open, client.byName, toProviderRequest({ ...request, tools: client.tools, input }, offers), {
      declared: request,
      loaded: [...loaded, ...findEarlierCalledTools(held, input)],
      held,
      sources,
      allowed,
      waiting,
    });
  }

  /** A toolbox without any tool of Sluice. */
  static empty(request: TurnRequest): Toolbox {
    const nothing = { loaded: [], held: [], sources: { entries: [] }, allowed: [], waiting: [] };
    return new Toolbox([], new Map(), request, { declared: request, ...nothing });
  }

  /** The request, extended by found tools. */
  loading(request: TurnRequest, found: readonly CallableTool[]): TurnRequest {
    if (found.length === 0) return request;
    for (const tool of found) this.#loaded.add(tool);
    return this.#known(request);
  }

  #known(request: TurnRequest): TurnRequest {
    if (this.#held.length === 0) return { ...request, tools: this.#tools };
    const tools = loadedTools(this.#tools, this.#held, [...this.#loaded]);
    const { toolChoice: choice } = request;
    if (typeof choice !== "object" || choice.type !== "allowed_tools") return { ...request, tools };
    return {
      ...request,
      tools,
      toolChoice: { ...choice, tools: choosableTools(this.#allowed, this.#held, tools) },
    };
  }
}

/** The hosted tools left to a provider. */
const leftTools = (request: TurnRequest, own: Offers): readonly HostedTool[] =>
  offeredTools(request).flatMap(({ tool }) => (tool.type === "hosted" && !own.has(tool) ? [tool] : []));

const allowedIn = ({ toolChoice: choice }: TurnRequest): readonly ToolReference[] | undefined =>
  typeof choice === "object" && choice.type === "allowed_tools" ? choice.tools : undefined;
