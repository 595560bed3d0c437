/** Which endpoints may serve a request, in the order in which they are tried. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type Problem, Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { TurnRequest } from "../turn/request.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import type { Catalog, CatalogModel, Endpoint } from "./catalog.ts";
import { needsOf } from "./needs.ts";

type Tier = Endpoint["tier"];

/** Tiers whose endpoints are asked, best first. */
const tiers: Readonly<Record<string, readonly Tier[]>> = {
  priority: ["priority", "default"],
  fast: ["priority", "default"],
  scale: ["scale", "default"],
  ultrafast: ["ultrafast", "priority", "default"],
};

/** Why an endpoint cannot be told the request at all; undefined when it can. */
export type RefusalOf = (endpoint: Endpoint, request: TurnRequest) => Problem | undefined;

/**
 * @throws Fault INVALID_REQUEST for a slug that nobody knows, and when what keeps the last endpoints from serving is what they
 *   would have to be told; NO_ENDPOINTS when none of the models can serve for another reason
 */
export function candidatesOf(catalog: Catalog, request: TurnRequest, refusalOf: RefusalOf): readonly Endpoint[] {
  const models = request.models.map((slug) => catalog.find(slug) ?? unknown(slug));
  const needs = needsOf(request);
  const refusals: string[] = [];
  const unsayable: Problem[] = [];
  const candidates = models.flatMap((model) => {
    const problem = needs.find((need) => !need.model(model.settings));
    if (problem) refusals.push(`${model.settings.id} ${problem.refusal}`);
    if (problem) return [];
    const tiered = inTiers(model, request.serviceTier);
    const able = tiered.filter((endpoint) => needs.every((need) => need.endpoint(endpoint)));
    const lacking = needs.find((need) => !tiered.some((endpoint) => need.endpoint(endpoint)));
    if (able.length === 0) refusals.push(`${model.settings.id} ${lacking?.refusal ?? "has no endpoint that fits"}`);
    return able.filter((endpoint) => {
      const refusal = refusalOf(endpoint, request);
      if (refusal) unsayable.push(refusal);
      return refusal === undefined;
    });
  });
  if (candidates.length > 0) return candidates;
  throwIfUnsayable(unsayable);
  const message = `No endpoint can serve this request: ${refusals.join("; ")}`;
  throw new Fault(FaultReason.NO_ENDPOINTS, message, { origin: FaultOrigin.CLIENT });
}

/** Several endpoints may have the same words missing. */
function throwIfUnsayable(refusals: readonly Problem[]): void {
  const problems = new Problems();
  const different = new Map(refusals.map((refusal) => [`${refusal.path} ${refusal.message}`, refusal]));
  for (const { path, message } of different.values()) problems.add(path, message);
  problems.throwIfAny();
}

function unknown(slug: string): never {
  throw new Fault(FaultReason.INVALID_REQUEST, `model: ${slug} is not in the catalogue`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request", param: "model" },
  });
}

function inTiers(model: CatalogModel, asked = "default"): readonly Endpoint[] {
  const of = (tier: Tier) => model.endpoints.filter((endpoint) => endpoint.tier === tier);
  // Who asks for flex pays flex or nothing: it falls back only where nobody offers it.
  if (asked === "flex") return of("flex").length > 0 ? of("flex") : of("default");
  return (tiers[asked] ?? ["default"]).flatMap(of);
}

/** Says in the account what could serve before anything may refuse the request. */
export const noteCandidates = (catalog: Catalog, refusalOf: RefusalOf): Layer =>
  onRequest((request, scope) => {
    scope.trace.candidates = candidatesOf(catalog, request, refusalOf).map(({ providerName, model }) => ({
      provider: providerName,
      model,
    }));
    return request;
  });
