/** Decides where a request goes: once, and the same for everybody who asks about it. */
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import { type SeedOf, arrange } from "./arrange.ts";
import { type Telling, candidatesOf } from "./candidates.ts";
import type { Catalog, Endpoint } from "./catalog.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import { randomSeed, sessionSeed } from "./rendezvous.ts";
import { sessionOf } from "./session.ts";

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

  constructor(request: TurnRequest, endpoints: readonly Endpoint[]) {
    this.request = request;
    this.endpoints = endpoints;
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
    const groups = candidatesOf(catalog, request, telling, trace.excluded);
    const endpoints = arrange(groups, request, this.records, this.#seeds(request, caller.keyHash));
    const [asked = ""] = request.models;
    trace.route = new Route(request, endpoints);
    trace.candidates = endpoints.map(({ providerName, model }) => ({ provider: providerName, model }));
    trace.primaryModel = catalog.find(asked)?.model.settings.id ?? asked;
    return endpoints;
  }

  /** Looked for only where load is shared. */
  #seeds(request: TurnRequest, keyHash: string): SeedOf {
    return (model) => {
      const session = sessionOf(request);
      return session === undefined ? randomSeed() : sessionSeed(this.#parts.secret, keyHash, model, session);
    };
  }
}

/** Says in the account what could serve before anything may refuse the request. */
export const noteCandidates = (router: Router): Layer =>
  onRequest((request, scope) => {
    router.route(request, scope);
    return request;
  });
