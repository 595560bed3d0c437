/** Decides which endpoints a request goes to. Each request is decided once: all callers see the same order. */
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
  /** Shared by all replicas, so each of them sends a session to the same endpoint. */
  readonly secret: string;
  readonly records: EndpointRecords;
  /** The cooldown of an endpoint; undefined when it may be called. */
  readonly cooldown: (endpoint: Endpoint) => Cooldown | undefined;
  /** Present in dry runs: nothing is remembered for a session, and no ejected endpoint is claimed for a trial. */
  readonly dryRun?: true;
}

/** Builds the request to send to providers. */
export type PrepareRequest = (request: TurnRequest, scope: Scope) => TurnRequest;

const none: ReadonlyMap<string, Seed> = new Map();
const noStages: readonly Stage[] = [];

/** A decision of the router. An unmodified request keeps its decision, because parts of it are random and all of it takes time. */
class Route {
  /** Undefined once an endpoint has committed. */
  request: TurnRequest | undefined;
  /** Whether the client has named the session. */
  readonly isNamedSession: boolean;
  /** Endpoints in order of trial; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** Seeds of the session by model; only where load is balanced. */
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
  /** The last decision; undefined before the first. */
  route: Route | undefined;
  /** Ejected endpoints this turn was chosen to try again; at most the first of each model. */
  tried: Set<Endpoint> | undefined;
  /** The session under which the answering model is remembered. */
  sticky: Seed | undefined;
}

const routing = new StateKey(() => new RoutingState());

export class Router {
  readonly #parts: RouterDeps;
  readonly catalog: Catalog;
  readonly records: EndpointRecords;
  /** The cooldown of an endpoint; undefined when it may be called. */
  readonly cooldown: RouterDeps["cooldown"];
  readonly #memo = new CandidateMemo();

  constructor(parts: RouterDeps) {
    this.#parts = parts;
    this.catalog = parts.catalog;
    this.records = parts.records;
    this.cooldown = parts.cooldown;
  }

  /**
   * Finds the possible endpoints of each model, in no particular order. Only the exclusions are noted in the receipt.
   * @throws Fault as candidates.ts does
   */
  findCandidates(request: TurnRequest, scope: Scope): readonly CandidateGroup[] {
    const { trace, caller } = scope;
    const found = this.#memo.find(request, caller, () => {
      // Noted before the search, because the receipt also has them if no endpoint may serve the request.
      const excluded = (trace.excluded = new Map<string, number>());
      const options = { excluded, policies: callerFilters(scope) };
      return { groups: findCandidates(this.catalog, request, this.#parts.support, options), excluded };
    });
    trace.excluded = found.excluded;
    return found.groups;
  }

  /**
   * Decides which endpoints to try, in order, and notes the decision in the receipt.
   * @throws Fault as candidates.ts does
   */
  route(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { caller, state } = scope;
    const { route } = state.get(routing);
    if (route?.request === request) return route.endpoints;
    const groups = this.findCandidates(request, scope);
    const [only] = groups;
    // A single endpoint has no order.
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

  /** Whether the turn is chosen to try an ejected endpoint: never in a dry run, and for the whole turn once it is chosen. */
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

  /** Endpoints to try after one of them has answered, according to `scope.again`. @throws Fault as `route` does */
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

  /** Called when an endpoint has committed: an answer may go on for minutes, and its request must not stay in memory for the decision. */
  committed({ state }: Scope): void {
    const { route } = state.get(routing);
    if (route) route.request = undefined;
  }

  /** Stages with those of the endpoints that guardrails in audit mode would have excluded. */
  auditPolicies(endpoints: readonly Endpoint[], { caller }: Scope): readonly Stage[] {
    const applied = guardrailsFor(caller);
    return applied.length === 0 ? noStages : auditStages(applied, endpoints, (slug) => this.catalog.find(slug)?.model);
  }

  /**
   * Notes that an endpoint has answered to the end and now holds the session's cache. A session without a name is noted only after a cache
   * hit, which proves it is a session.
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

  /** The session's recent model; undefined without a session. @param chooser slug of the model alias */
  findStickyModel(request: TurnRequest, { caller }: Scope, chooser: string): string | undefined {
    const session = findSession(request);
    if (session === undefined) return undefined;
    return this.records.stickyModels.find(this.#seed(caller.keyHash, chooser, session), this.records.now());
  }

  /** Remembers a model for the session; not in a dry run. */
  rememberModel(request: TurnRequest, { caller }: Scope, chooser: string, model: string): void {
    const session = findSession(request);
    if (session === undefined || this.#parts.dryRun === true) return;
    this.records.stickyModels.note(this.#seed(caller.keyHash, chooser, session), model, this.records.now());
  }

  /** Remembers the answering model, once known, for the session of this request. */
  rememberAnswering(request: TurnRequest, { state, caller }: Scope, slug: string): void {
    const session = findSession(request);
    if (session !== undefined) state.get(routing).sticky = this.#seed(caller.keyHash, slug, session);
  }

  /** A number in [0, 1), equal in every process for a session and an event in it. */
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

  /** @param seeds gets the seed of the session, if there is one */
  #session(request: TurnRequest, keyHash: string, model: string, seeds: Map<string, Seed>): Session {
    const session = findSession(request);
    if (session === undefined) return { seed: randomSeed(), lastEndpoint: undefined };
    const seed = this.#seed(keyHash, model, session);
    seeds.set(model, seed);
    return { seed, lastEndpoint: this.records.stickyEndpoints.find(seed, this.records.now()) };
  }
}

/** Adds stages for guardrails in audit mode and endpoints chosen later. Stages already in the receipt are not repeated. */
export function auditLateEndpoints(router: Router, request: TurnRequest, scope: Scope): void {
  const { stages } = scope.trace;
  const known = new Set(stages.map((stage) => JSON.stringify(stage)));
  const found = router.auditPolicies(router.route(request, scope), scope);
  stages.push(...found.filter((stage) => !known.has(JSON.stringify(stage))));
}

/** A layer that notes the possible endpoints in the receipt, before any other layer may refuse the request. */
export const noteCandidates = (router: Router, prepare: PrepareRequest): Layer =>
  requestLayer((request, scope) => {
    const endpoints = router.route(prepare(request, scope), scope);
    scope.trace.stages.push(...router.auditPolicies(endpoints, scope));
    return request;
  });
