/** Calls the endpoints of a model. Fallback between endpoints is around each attempt; the budget and the ledger are within it. */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { FileReader } from "../content/files/texts.ts";
import type { Budgets } from "./ledger/budget.ts";
import { modelLimitLayer } from "./model-limit-layer.ts";
import { budgetLayer } from "./ledger/hold.ts";
import type { CallLedger, FindTask } from "./ledger/ledger.ts";
import { recordLayer } from "./ledger/recorded.ts";
import { fallback } from "./routing/attempt/fallback.ts";
import type { Catalog, Endpoint } from "./routing/catalog.ts";
import type { DialectSupport } from "./routing/choose/candidates.ts";
import type { Router } from "./routing/choose/router.ts";
import { type OnAnswered, billLayer, estimateSentUsage } from "./routing/price/bill.ts";
import { boundCost } from "./routing/price/worst-cost.ts";
import type { EndpointRecords } from "./routing/records/endpoint-record.ts";
import type { TurnRequest } from "../turn/request.ts";
import { composeByMask } from "../turn/feature.ts";
import { type Layer, type Turn, compose } from "../turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";
import type { Downloads } from "../content/downloads.ts";

/** A feature whose layer depends on the endpoint called. */
export interface EndpointFeature {
  /** The plugin's id. */
  readonly id: string;
  /** Whether the layer may act on the request; true in doubt. */
  readonly applies: (request: TurnRequest, endpoint: Endpoint) => boolean;
  readonly layer: (endpoint: Endpoint, kit: EndpointKit) => Layer;
}

export interface EndpointKit {
  readonly files: FileReader;
  readonly dialects: DialectSupport;
  /** Downloads files and images; undefined in a dry run. */
  readonly web?: Downloads;
}

export interface ModelCallerDeps {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  readonly router: Router;
  /** Features for single endpoints, outermost first. */
  readonly endpointFeatures: readonly EndpointFeature[];
  readonly files: FileReader;
  readonly web: Downloads;
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly findTask: FindTask | undefined;
  readonly budgets: Pick<Budgets, "reserve">;
  /** Log for the causes of failed attempts, which are never shown to clients. */
  readonly log: Pick<Logger, "info" | "warn">;
}

type CallParts = Pick<
  ModelCallerDeps,
  "upstreams" | "router" | "endpointFeatures" | "files" | "web" | "ledger" | "findTask" | "budgets"
>;

/** A layer around each call of an endpoint. */
export interface CallLayer {
  readonly name: string;
  /** Builds the layer once for each endpoint. */
  readonly layer: (endpoint: Endpoint, parts: CallParts) => Layer;
}

/**
 * The layers around a call of an endpoint, outermost first. All layers that may refuse a call stand outside the budget:
 * the call of the next model has the same number, and would lose its hold by the release the first call left in the
 * queue.
 */
export const callLayers: readonly CallLayer[] = [
  {
    name: "model limits",
    layer:
      ({ model }) =>
      (turn) =>
        modelLimitLayer(model, turn),
  },
  // Closer to the provider than the limits, so no file is read for a model at its limit.
  { name: "features", layer: featureLayer },
  // A call begins only if its worst case fits into the budgets.
  {
    name: "budget",
    layer:
      (endpoint, { budgets }) =>
      (turn) =>
        budgetLayer(budgets, (request) => boundCost(endpoint, request), turn),
  },
  // The ledger row of each call, with its bill, exists before any layer sees the answer. If a call cannot be recorded,
  // the request ends, and no other model is called.
  {
    name: "record",
    layer: (endpoint, { ledger, findTask }) => {
      const sent = (request: TurnRequest) => estimateSentUsage(endpoint, request);
      return (turn) => recordLayer({ ledger, callee: endpoint, sent, findTask }, turn);
    },
  },
  // The bill gives the call its number, so a refusal by the provider's format counts as a separate call.
  {
    name: "bill",
    layer: (endpoint, { router }) => {
      const answered: OnAnswered = (_, scope, usage) => router.noteAnswer(endpoint, scope, usage);
      return (turn) => billLayer(endpoint, turn, answered);
    },
  },
];

function featureLayer(endpoint: Endpoint, { endpointFeatures, upstreams, files, web }: CallParts): Layer {
  const kit: EndpointKit = { files, dialects: upstreams, web };
  const layers = endpointFeatures.map(({ layer }) => layer(endpoint, kit));
  const applying = endpointFeatures.map(({ applies }) => ({
    applies: (request: TurnRequest) => applies(request, endpoint),
  }));
  return (turn) => composeByMask(applying, layers, turn);
}

export function buildModelCaller(deps: ModelCallerDeps, layers = callLayers): Turn {
  const { upstreams, router, log } = deps;
  const build = (endpoint: Endpoint): Turn =>
    compose(
      layers.map(({ layer }) => layer(endpoint, deps)),
      upstreams.turn(endpoint),
    );
  // Turns by endpoint, built once for each; a reload creates new endpoints.
  const built = new WeakMap<Endpoint, Turn>();
  const attempt = (endpoint: Endpoint): Turn => {
    let turn = built.get(endpoint);
    if (turn === undefined) built.set(endpoint, (turn = build(endpoint)));
    return turn;
  };
  // Fallback is the layer closest to the wire: a failed attempt can be repeated elsewhere unnoticed only before the
  // commit point.
  return fallback(router, attempt, log);
}
