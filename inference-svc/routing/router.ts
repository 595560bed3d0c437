/** Decides where a request goes: once, and the same for everybody who asks about it. */
import type { TurnRequest } from "../turn/request.ts";
import { appliedTo } from "../turn/applied.ts";
import type { CandidateNote, Scope, Stage } from "../turn/scope.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import { type Session, arrange } from "./arrange.ts";
import { type Telling, candidatesOf } from "./candidates.ts";
import type { Catalog, Endpoint } from "./catalog.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import { auditStages, policyFilters } from "./policies.ts";
import { type Seed, randomSeed, sessionSeed } from "./rendezvous.ts";
import { isNamedSession, sessionOf } from "./session.ts";

export interface RouterParts {
  readonly catalog: Catalog;
  readonly telling: Telling;
  /** Shared by all replicas: a session goes to the same endpoint whoever decides. */
  readonly secret: string;
  readonly records: EndpointRecords;
}

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
  readonly records: EndpointRecords;

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.records = parts.records;
  }

  /**
   * The endpoints to try, in order; noted in the account of the turn.
   * @throws Fault as candidatesOf does
   */
  route(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    const { trace, caller } = scope;
    if (trace.route instanceof Route && trace.route.request === request) return trace.route.endpoints;
    const { catalog, telling } = this.#parts;
    trace.excluded.clear();
    const options = { excluded: trace.excluded, policies: policyFilters(appliedTo(caller)) };
    const groups = candidatesOf(catalog, request, telling, options);
    const seeds = new Map<string, Seed>();
    const endpoints = arrange(groups, request, {
      records: this.records,
      sessionOf: (model) => this.#session(request, caller.keyHash, model, seeds),
      probes: scope.dryRun !== true,
    });
    const [asked = ""] = request.models;
    trace.route = new Route(request, endpoints, seeds);
    trace.candidates = this.#notes(endpoints);
    trace.primaryModel = catalog.find(asked)?.model.settings.id ?? asked;
    return endpoints;
  }

  /** What guardrails in audit would have left out. */
  audit(endpoints: readonly Endpoint[], { caller }: Scope): readonly Stage[] {
    return auditStages(appliedTo(caller), endpoints, (slug) => this.#parts.catalog.find(slug)?.model);
  }

  /**
   * The endpoint has answered, to the end: there is the cache of the session now. Of a conversation that nobody named that is known only when
   * something came out of a cache.
   */
  answered(endpoint: Endpoint, { trace }: Scope, cachedTokens: number): void {
    if (!(trace.route instanceof Route)) return;
    const { request, seeds } = trace.route;
    const seed = seeds.get(endpoint.model);
    if (seed && (cachedTokens > 0 || isNamedSession(request)))
      this.records.warm.note(seed, endpoint.seed, this.records.now());
  }

  #notes(endpoints: readonly Endpoint[]): readonly CandidateNote[] {
    const now = this.records.now();
    return endpoints.map((endpoint) => {
      const { providerName: provider, model } = endpoint;
      const ejected = this.records.find(endpoint)?.ejection.state(now) === "ejected";
      return ejected ? { provider, model, ejected } : { provider, model };
    });
  }

  /** @param seeds gets that of the session, if there is one */
  #session(request: TurnRequest, keyHash: string, model: string, seeds: Map<string, Seed>): Session {
    const session = sessionOf(request);
    if (session === undefined) return { seed: randomSeed(), warm: undefined };
    const seed = sessionSeed(this.#parts.secret, keyHash, model, session);
    seeds.set(model, seed);
    return { seed, warm: this.records.warm.find(seed, this.records.now()) };
  }
}

/** Says in the account what could serve before anything may refuse the request. */
export const noteCandidates = (router: Router): Layer =>
  onRequest((request, scope) => {
    const endpoints = router.route(request, scope);
    scope.trace.stages.push(...router.audit(endpoints, scope));
    return request;
  });
