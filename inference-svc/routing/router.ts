/** Decides where a request goes: once, and the same for everybody who asks about it. */
import type { TurnRequest } from "../turn/request.ts";
import { appliedTo } from "../turn/applied.ts";
import type { CandidateNote, Scope, Stage } from "../turn/scope.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import { asksToFit } from "../turn/window.ts";
import { type Session, arrange } from "./arrange.ts";
import { type Group, type Telling, candidatesOf } from "./candidates.ts";
import type { Catalog, Endpoint } from "./catalog.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import { auditStages, policyFilters } from "./policies.ts";
import { roomiestFirst } from "./roomiest.ts";
import { type Seed, randomSeed, sessionSeed } from "./rendezvous.ts";
import { isNamedSession, sessionOf } from "./session.ts";
import type { Rest } from "./walk.ts";

export interface RouterParts {
  readonly catalog: Catalog;
  readonly telling: Telling;
  /** Shared by all replicas: a session goes to the same endpoint whoever decides. */
  readonly secret: string;
  readonly records: EndpointRecords;
  /** Why an endpoint is not to be asked now; undefined when it may be. */
  readonly rest: (endpoint: Endpoint) => Rest | undefined;
}

/** A request as providers will be told it. */
export type Told = (request: TurnRequest, scope: Scope) => TurnRequest;

/** Kept in the account of the turn: a request that nobody rewrote is decided once, as some decisions are random, and none is free. */
class Route {
  readonly request: TurnRequest;
  /** In the order in which they are tried; at least one. */
  readonly endpoints: readonly Endpoint[];
  /** Of the session, by model; only where load is shared. */
  readonly seeds: ReadonlyMap<string, Seed>;

  constructor(request: TurnRequest, endpoints: readonly Endpoint[], seeds: ReadonlyMap<string, Seed>) {
    this.request = request;
    this.endpoints = endpoints;
    this.seeds = seeds;
  }
}

export class Router {
  readonly #parts: RouterParts;
  readonly catalog: Catalog;
  readonly records: EndpointRecords;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.catalog = parts.catalog;
    this.records = parts.records;
  }

  /**
   * The endpoints of each model that may serve, in no order; nothing is noted but why others may not.
   * @throws Fault as candidatesOf does
   */
  able(request: TurnRequest, { trace, caller }: Scope): readonly Group[] {
    trace.excluded.clear();
    const options = { excluded: trace.excluded, policies: policyFilters(appliedTo(caller)) };
    return candidatesOf(this.catalog, request, this.#parts.telling, options);
  }

  /**
   * The endpoints to try, in order; noted in the account of the turn.
   * @throws Fault as candidatesOf does
   */
  route(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { trace, caller } = scope;
    if (trace.route instanceof Route && trace.route.request === request) return trace.route.endpoints;
    const groups = this.able(request, scope);
    const seeds = new Map<string, Seed>();
    const arranged = arrange(groups, request, {
      records: this.records,
      sessionOf: (model) => this.#session(request, caller.keyHash, model, seeds),
      tries: (endpoint) => this.#tries(endpoint, scope),
    });
    const endpoints = asksToFit(request) ? roomiestFirst(arranged, request) : arranged;
    return this.#decide(request, scope, endpoints, seeds);
  }

  /** Not in a dry run, as nobody is asked; for good once it was decided, whatever becomes of the request in the meantime. */
  #tries(endpoint: Endpoint, { trace, dryRun }: Scope): boolean {
    if (dryRun === true) return false;
    if (trace.tried?.has(endpoint) === true) return true;
    const tries = this.records.find(endpoint)?.ejection.claim(this.records.now()) === true;
    if (tries) (trace.tried ??= new Set()).add(endpoint);
    return tries;
  }

  #decide(
    request: TurnRequest,
    { trace }: Scope,
    endpoints: readonly Endpoint[],
    seeds = trace.route instanceof Route ? trace.route.seeds : new Map<string, Seed>(),
  ): readonly Endpoint[] {
    const [asked = ""] = request.models;
    trace.route = new Route(request, endpoints, seeds);
    trace.candidates = this.#notes(endpoints);
    trace.primaryModel = this.catalog.find(asked)?.model.settings.id ?? asked;
    return endpoints;
  }

  /** Those to try after one of them has answered, as the scope says. @throws Fault as route does */
  again(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { trace } = scope;
    const selected = trace.route instanceof Route ? trace.route.endpoints[trace.selected ?? -1] : undefined;
    if (selected === undefined) throw new Error("nobody has answered yet");
    if (scope.again !== "first") return [selected];
    const endpoints = this.route(request, scope);
    if (!endpoints.includes(selected)) return endpoints;
    return this.#decide(request, scope, [selected, ...endpoints.filter((each) => each !== selected)]);
  }

  /** What guardrails in audit would have left out. */
  audit(endpoints: readonly Endpoint[], { caller }: Scope): readonly Stage[] {
    return auditStages(appliedTo(caller), endpoints, (slug) => this.catalog.find(slug)?.model);
  }

  /**
   * The endpoint has answered, to the end: there is the cache of the session now. Of a conversation that nobody named that is known only when
   * something came out of a cache.
   */
  answered(endpoint: Endpoint, scope: Scope, cachedTokens: number): void {
    const { trace } = scope;
    if (!(trace.route instanceof Route)) return;
    const { keptFor } = trace;
    if (keptFor) this.choose(keptFor.request, scope, keptFor.slug, endpoint.model);
    const { request, seeds } = trace.route;
    const seed = seeds.get(endpoint.model);
    if (seed && (cachedTokens > 0 || isNamedSession(request)))
      this.records.warm.note(seed, endpoint.seed, this.records.now());
  }

  /** Tokens per second, the median of the last minutes; undefined while nothing was measured. */
  throughput(endpoint: Endpoint): number | undefined {
    return this.records.find(endpoint)?.throughput.at(0.5, this.records.now());
  }

  /** The model that was chosen for the session lately; undefined without a session. @param chooser a slug that stands for others */
  chosen(request: TurnRequest, { caller }: Scope, chooser: string): string | undefined {
    const session = sessionOf(request);
    if (session === undefined) return undefined;
    return this.records.chosen.find(this.#seed(caller.keyHash, chooser, session), this.records.now());
  }

  /** A dry run chooses for nobody. */
  choose(request: TurnRequest, { caller, dryRun }: Scope, chooser: string, model: string): void {
    const session = sessionOf(request);
    if (session === undefined || dryRun === true) return;
    this.records.chosen.note(this.#seed(caller.keyHash, chooser, session), model, this.records.now());
  }

  /** In [0, 1): for a session and what happened in it the same in every process. */
  drawn(request: TurnRequest, { caller }: Scope, chooser: string, happened: number): number {
    const session = sessionOf(request);
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
      const ejected = this.records.find(endpoint)?.ejection.state(now) === "ejected";
      const rest = this.#parts.rest(endpoint);
      // As a rule there is nothing to say of any: they are many, and each costs every turn something.
      if (!ejected && !rest) return { provider, model };
      return { provider, model, ...(ejected && { ejected }), ...(rest && { rests: rest.why }) };
    });
  }

  /** @param seeds gets that of the session, if there is one */
  #session(request: TurnRequest, keyHash: string, model: string, seeds: Map<string, Seed>): Session {
    const session = sessionOf(request);
    if (session === undefined) return { seed: randomSeed(), warm: undefined };
    const seed = this.#seed(keyHash, model, session);
    seeds.set(model, seed);
    return { seed, warm: this.records.warm.find(seed, this.records.now()) };
  }
}

/** Says in the account what could serve before anything may refuse the request. */
export const noteCandidates = (router: Router, told: Told): Layer =>
  onRequest((request, scope) => {
    const endpoints = router.route(told(request, scope), scope);
    scope.trace.stages.push(...router.audit(endpoints, scope));
    return request;
  });
