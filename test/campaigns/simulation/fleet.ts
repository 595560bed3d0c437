/**
 * Replicas of inference-svc, which decide with Sluice's own code: order and weights of endpoints, sessions, ejection, retry budget and schedule. A
 * request is one event at its arrival and one event for each call of a provider; everything in between (sockets, formats, guardrails) takes no time.
 */
import { create } from "@bufbuild/protobuf";
import { fallback } from "@sluice/inference-svc/models/routing/attempt/fallback.js";
import type { EndpointState } from "@sluice/inference-svc/models/routing/attempt/ejection.js";
import { Catalog, type Endpoint } from "@sluice/inference-svc/models/routing/catalog.js";
import { Router } from "@sluice/inference-svc/models/routing/choose/router.js";
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { Scope } from "@sluice/inference-svc/turn/scope.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";
import { TurnState } from "@sluice/inference-svc/turn/turn-state.js";
import { Trace } from "@sluice/inference-svc/turn/trace.js";
import type { Turn } from "@sluice/inference-svc/turn/turn.js";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { SimulatedProvider } from "./provider.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { testRequest } from "../../inference-svc/asking.ts";

export const modelSlug = "acme/large";
/** USD per million tokens at each endpoint, which give shares of 53, 34 and 13 per cent. */
export const endpointPrices = ["1.00", "1.25", "2.00"] as const;
/** `limits.turn_ms` of the configuration file. */
const turnMs = 600_000;

/** Parts of a router for which every endpoint takes every request, and none asks for a pause. */
export const routerDeps = {
  support: { refusal: () => undefined, droppedFields: () => [] },
  cooldown: () => undefined,
  secret: "a secret that all replicas share",
};
const log = { info: () => {}, warn: () => {} };

/** The catalogue of one model. @param left indices of the endpoints that are in the configuration file */
export function buildCatalog(left: readonly number[] = [0, 1, 2]): Catalog {
  const ids = left.map((place) => `provider-${place}`);
  return new Catalog(
    configSchema.parse({
      providers: ids.map((id) => ({ id, dialect: "chat", base_url: "http://127.0.0.1:1/v1" })),
      models: [
        {
          id: modelSlug,
          endpoints: ids.map((provider, index) => {
            const price = endpointPrices[left[index]!];
            return { provider, pricing: { prompt: price, completion: price } };
          }),
        },
      ],
    }),
  );
}

export const endpointsOf = (catalog: Catalog): readonly Endpoint[] => catalog.find(modelSlug)?.model.endpoints ?? [];

export class SimulatedReplica {
  readonly router: Router;
  readonly #endpoints: readonly Endpoint[];
  readonly #turn: Turn;

  constructor(time: VirtualTime, catalog: Catalog, providers: readonly SimulatedProvider[]) {
    this.router = new Router({ ...routerDeps, catalog, records: new EndpointRecords(() => time.now) });
    this.#endpoints = endpointsOf(catalog);
    const turns = new Map(
      this.#endpoints.map((each, place) => [each, providers[place]!.turnFor(each, this.router)] as const),
    );
    this.#turn = fallback(this.router, (endpoint) => turns.get(endpoint)!, log);
  }

  stateOf(place: number, now: number): EndpointState {
    return this.router.records.find(this.#endpoints[place]!)?.ejection.state(now) ?? "in use";
  }

  /** Sends a request. @param ended called once, with whether an endpoint answered, and with the providers called */
  ask(request: TurnRequest, caller: Caller, ended: (answered: boolean, calls: readonly string[]) => void): void {
    const scope = newTurnScope(caller);
    const providersCalled = () => scope.trace.attempts.map(({ provider }) => provider);
    try {
      const answer = this.#turn(request, scope);
      const look = (): void => {
        try {
          if (answer.next(look) !== "pending") ended(true, providersCalled());
        } catch {
          ended(false, providersCalled());
        }
      };
      look();
    } catch {
      ended(false, providersCalled());
    }
  }
}

export const newCaller = (key: number): Caller => create(CallerSchema, { keyHash: `key-${key}`, workspaceId: "w" });

export const newTurnScope = (caller: Caller): Scope =>
  new Scope({
    signal: new TurnAbort(),
    held: heldBytes.open(caller.keyHash, () => {}),
    caller,
    requestId: "req",
    turnId: "turn",
    generationId: "gen",
    deadline: performance.now() + turnMs,
    trace: new Trace(1n),
    state: new TurnState(),
  });

/** @param session session id given by the client; without one, the first message identifies the session */
export const newRequest = (session: string | undefined, text: string): TurnRequest =>
  testRequest({ models: [modelSlug], text, ...(session !== undefined && { sessionId: session }) });
