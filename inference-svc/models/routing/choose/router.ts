/** Decides which endpoints a request is sent to. Each request is decided once, so all callers see the same order. */
import type { TurnRequest } from "../../../turn/request.ts";
import { guardrailsFor } from "../../../turn/applied-guardrails.ts";
import type { Scope } from "../../../turn/scope.ts";
import { StateKey } from "../../../turn/turn-state.ts";
import type { CandidateNote, Stage } from "../../../turn/trace.ts";
import type { Usage } from "../../../turn/usage.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { requestsCompression } from "../../../turn/window.ts";
import { type Session, orderCandidates } from "./order.ts";
import { CandidateMemo } from "./candidate-memo.ts";
import { type CandidateGroup, type DialectSupport, findCandidates } from "./candidates.ts";
import type { Catalog, Endpoint } from "../catalog.ts";
import type { EndpointRecords } from "../records/endpoint-record.ts";
import { callerFilters } from "./permitted-endpoints.ts";
import { auditStages } from "./policies.ts";
import { sortByRoom } from "./window-fit.ts";
import { type Seed, randomSeed, sessionSeed } from "./rendezvous.ts";
import { findSession } from "./session.ts";
import type { Cooldown } from "../attempt/schedule.ts";

export interface RouterDeps {
  readonly catalog: Catalog;
  readonly support: DialectSupport;
  /** Secret of the installation, shared by all replicas, so each of them sends a session to the same endpoint. */
  readonly secret: string;
  readonly records: EndpointRecords;
  /** Finds the cooldown of an endpoint; undefined when the endpoint may be called. */
  readonly cooldown: (endpoint: Endpoint) => Cooldown | undefined;
  /** Set in dry runs: nothing is stored for a session, and no ejected endpoint is reserved for a trial. */
  readonly dryRun?: true;
}

/** Builds the request sent to providers. */
export type PrepareRequest = (request: TurnRequest, scope: Scope) => TurnRequest;

const none: ReadonlyMap<string, Seed> = new Map();
const noStages: readonly Stage[] = [];

/** A decision of the router, which holds as long as the request is not changed: parts of it are random, and all of it takes time. */
class Route {
  /** The request; undefined once an endpoint has committed, to free its memory. */
  request: TurnRequest | undefined;
  /** Whether the client has given the session a name. */
  readonly isNamedSession: boolean;
  /** Endpoints in the order in which they are tried; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** Seeds of the session, by model; only for models whose load is balanced. */
  readonly seeds: ReadonlyMap<string, Seed>;

  constructor(request: TurnRequest, endpoints: readonly Endpoint[], seeds: ReadonlyMap<string, Seed>) {
    this.request = request;
    this.isNamedSession = Boolean(request.sessionId || request.promptCacheKey);
    this.endpoints = endpoints;
    this.seeds = seeds;
  }
}

/** The router's memory of one turn. */
class RoutingState {
  /** The last decision; undefined before the first one. */
  route: Route | undefined;
  /** Ejected endpoints this turn was chosen to try again; at most the first endpoint of each model. */
  tried: Set<Endpoint> | undefined;
  /** Seed of the session for which the answering model is stored. */
  sticky: Seed | undefined;
}

const routing = new StateKey(() => new RoutingState());

export class Router {
  readonly #parts: RouterDeps;
  readonly catalog: Catalog;
  readonly records: EndpointRecords;
  /** Finds the cooldown of an endpoint; undefined when the endpoint may be called. */
  readonly cooldown: RouterDeps["cooldown"];
  readonly #memo = new CandidateMemo();

  constructor(parts: RouterDeps) {
    this.#parts = parts;
    this.catalog = parts.catalog;
    this.records = parts.records;
    this.cooldown = parts.cooldown;
  }

  /**
   * Finds the possible endpoints of each model, in no particular order. Only the excluded endpoints are noted in the
   * receipt.
   * @throws Fault as `findCandidates` in candidates.ts does
   */
  findCandidates(request: TurnRequest, scope: Scope): readonly CandidateGroup[] {
    const { trace, caller } = scope;
    const found = this.#memo.find(request, caller, () => {
      // The exclusions are noted before the search, so the receipt has them even if no endpoint may serve the request.
      const excluded = (trace.excluded = new Map<string, number>());
      const options = { excluded, policies: callerFilters(scope) };
      return { groups: findCandidates(this.catalog, request, this.#parts.support, options), excluded };
    });
    trace.excluded = found.excluded;
    return found.groups;
  }

  /**
   * Decides which endpoints are tried, in order, and notes the decision in the receipt.
   * @throws Fault as `findCandidates` in candidates.ts does
   */
  route(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { caller, state } = scope;
    const { route } = state.get(routing);
    if (route?.request === request) return route.endpoints;
    const groups = this.findCandidates(request, scope);
    const [only] = groups;
    // A single endpoint needs no order.
    if (groups.length === 1 && only!.endpoints.length === 1) return this.#decide(request, scope, only!.endpoints, none);
    const seeds = new Map<string, Seed>();
    const arranged = orderCandidates(groups, request, {
      records: this.records,
      sessionOf: (model) => this.#session(request, caller.keyHash, model, seeds),
      tries: (endpoint) => this.#tries(endpoint, scope),
    });
    const endpoints = requestsCompression(request) ? sortByRoom(arranged, request) : arranged;
    return this.#decide(request, scope, endpoints, seeds.size > 0 ? seeds : none);
  }

  /** Whether the turn may try an ejected endpoint. It never may in a dry run, and it may until its end once it was chosen to. */
  #tries(endpoint: Endpoint, { state }: Scope): boolean {
    if (this.#parts.dryRun === true) return false;
    const own = state.get(routing);
    if (own.tried?.has(endpoint) === true) return true;
    const tries = this.records.find(endpoint)?.ejection.claim(this.records.now()) === true;
    if (tries) (own.tried ??= new Set()).add(endpoint);
    return tries;
  }

  #decide(
    request: TurnRequest,
    { trace, state }: Scope,
    endpoints: readonly Endpoint[],
    seeds: ReadonlyMap<string, Seed>,
  ): readonly Endpoint[] {
    const [requestedModel = ""] = request.models;
    state.get(routing).route = new Route(request, endpoints, seeds);
    trace.candidates = this.#notes(endpoints);
    trace.primaryModel = this.catalog.find(requestedModel)?.model.settings.id ?? requestedModel;
    return endpoints;
  }

  /** The endpoints to try after one of them has answered, as `scope.again` says. @throws Fault as `route` does */
  routeAgain(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { trace, state } = scope;
    const own = state.get(routing);
    const selected = own.route?.endpoints[trace.selected ?? -1];
    if (selected === undefined) throw new Error("no endpoint has answered yet");
    if (scope.again !== "first") return [selected];
    const endpoints = this.route(request, scope);
    if (!endpoints.includes(selected)) return endpoints;
    return this.#decide(
      request,
      scope,
      [selected, ...endpoints.filter((each) => each !== selected)],
      own.route?.seeds ?? none,
    );
  }

  /** Called when an endpoint has committed. Releases the request, which must not stay in memory while the answer goes on for minutes. */
  committed({ state }: Scope): void {
    const { route } = state.get(routing);
    if (route) route.request = undefined;
  }

  /** Stages for the receipt with the endpoints guardrails in audit mode would have excluded. */
  auditPolicies(endpoints: readonly Endpoint[], { caller }: Scope): readonly Stage[] {
    const applied = guardrailsFor(caller);
    return applied.length === 0 ? noStages : auditStages(applied, endpoints, (slug) => this.catalog.find(slug)?.model);
  }

  /**
   * Notes that an endpoint has answered to the end and now has the session in its cache. A session without a name is
   * noted only after a cache hit, which proves that it is a session.
   */
  noteAnswer(
    endpoint: Endpoint,
    scope: Scope,
    { inputTokens, outputTokens, cachedTokens }: Pick<Usage, "inputTokens" | "outputTokens" | "cachedTokens">,
  ): void {
    this.records.tokenMix.add(inputTokens, outputTokens, this.records.now());
    const { route, sticky } = scope.state.get(routing);
    if (route === undefined) return;
    if (sticky) this.records.stickyModels.note(sticky, endpoint.model, this.records.now());
    const seed = route.seeds.get(endpoint.model);
    if (seed && (cachedTokens > 0 || route.isNamedSession))
      this.records.stickyEndpoints.note(seed, endpoint.seed, this.records.now());
  }

  /** Median tokens per second of the last minutes; undefined without measurements. */
  throughput(endpoint: Endpoint): number | undefined {
    return this.records.find(endpoint)?.throughput.at(0.5, this.records.now());
  }

  /** The model that served the session last; undefined without a session. @param chooser slug of the model alias */
  findStickyModel(request: TurnRequest, { caller }: Scope, chooser: string): string | undefined {
    const session = findSession(request);
    if (session === undefined) return undefined;
    return this.records.stickyModels.find(this.#seed(caller.keyHash, chooser, session), this.records.now());
  }

  /** Stores a model for the session, except in a dry run. */
  rememberModel(request: TurnRequest, { caller }: Scope, chooser: string, model: string): void {
    const session = findSession(request);
    if (session === undefined || this.#parts.dryRun === true) return;
    this.records.stickyModels.note(this.#seed(caller.keyHash, chooser, session), model, this.records.now());
  }

  /** Notes the session of this request, so its answering model is stored once it is known. */
  rememberAnswering(request: TurnRequest, { state, caller }: Scope, slug: string): void {
    const session = findSession(request);
    if (session !== undefined) state.get(routing).sticky = this.#seed(caller.keyHash, slug, session);
  }

  /** A number in [0, 1) that is equal in every process for a session and an event in it. @param happened number of the event */
  drawFraction(request: TurnRequest, { caller }: Scope, chooser: string, happened: number): number {
    const session = findSession(request);
    const { low } =
      session === undefined ? randomSeed() : this.#seed(caller.keyHash, chooser, `${session}\0${happened}`);
    return (low >>> 0) / 2 ** 32;
  }

  #seed(keyHash: string, model: string, session: string): Seed {
    return sessionSeed(this.#parts.secret, keyHash, model, session);
  }

  #notes(endpoints: readonly Endpoint[]): readonly CandidateNote[] {
    const now = this.records.now();
    return endpoints.map((endpoint) => {
      const { providerName: provider, model } = endpoint;
      const ejected = this.records.find(endpoint)?.ejection.state(now) === "ejected" || undefined;
      const rest = this.cooldown(endpoint);
      return { provider, model, ejected, rests: rest?.why };
    });
  }

  /** @param seeds gets the seed of the session, if the request belongs to one */
  #session(request: TurnRequest, keyHash: string, model: string, seeds: Map<string, Seed>): Session {
    const session = findSession(request);
    if (session === undefined) return { seed: randomSeed(), lastEndpoint: undefined };
    const seed = this.#seed(keyHash, model, session);
    seeds.set(model, seed);
    return { seed, lastEndpoint: this.records.stickyEndpoints.find(seed, this.records.now()) };
  }
}

/** Adds stages for endpoints chosen later that guardrails in audit mode would have excluded. Stages already in the receipt are not repeated. */
export function auditLateEndpoints(router: Router, request: TurnRequest, scope: Scope): void {
  const { stages } = scope.trace;
  const known = new Set(stages.map((stage) => JSON.stringify(stage)));
  const found = router.auditPolicies(router.route(request, scope), scope);
  stages.push(...found.filter((stage) => !known.has(JSON.stringify(stage))));
}

/** A layer that notes the possible endpoints in the receipt, before any other layer can refuse the request. */
export const noteCandidates = (router: Router, prepare: PrepareRequest): Layer =>
  requestLayer((request, scope) => {
    const endpoints = router.route(prepare(request, scope), scope);
    scope.trace.stages.push(...router.auditPolicies(endpoints, scope));
    return request;
  });
