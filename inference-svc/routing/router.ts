/** Decides where a request goes: once, and the same for everybody who asks about it. */
import type { TurnRequest } from "../turn/request.ts";
import type { CandidateNote, Scope } from "../turn/scope.ts";
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

interface Route {
  /** In the order in which they are tried; at least one. */
  readonly endpoints: readonly Endpoint[];
  readonly notes: readonly CandidateNote[];
  /** Slug of the model that was asked for, without a variant. */
  readonly primaryModel: string;
}

export class Router {
  readonly #parts: RouterParts;
  readonly records: EndpointRecords;
  /** A request that nobody rewrote is decided once: some decisions are random, and none is free. */
  readonly #routes = new WeakMap<TurnRequest, Route>();

  constructor(parts: RouterParts) {
    this.#parts = parts;
    this.records = parts.records;
  }

  /**
   * The endpoints to try, in order; noted in the account of the turn.
   * @throws Fault as candidatesOf does
   */
  route(request: TurnRequest, scope: Scope): readonly Endpoint[] {
    let route = this.#routes.get(request);
    if (route === undefined) this.#routes.set(request, (route = this.#decide(request, scope.caller.keyHash)));
    scope.trace.candidates = route.notes;
    scope.trace.primaryModel = route.primaryModel;
    return route.endpoints;
  }

  #decide(request: TurnRequest, keyHash: string): Route {
    const { catalog, telling } = this.#parts;
    const groups = candidatesOf(catalog, request, telling);
    const endpoints = arrange(groups, request, this.records, this.#seeds(request, keyHash));
    const [asked = ""] = request.models;
    return {
      endpoints,
      notes: endpoints.map(({ providerName, model }) => ({ provider: providerName, model })),
      primaryModel: catalog.find(asked)?.model.settings.id ?? asked,
    };
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
