/**
 * Plans a dry run: runs the request through the features that apply, in the order of the stack, without calling a
 * model, service or web page.
 */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { EndpointFeature } from "../models/ask.ts";
import type { Endpoint } from "../models/routing/catalog.ts";
import { type OutgoingRequest, type PlannedAttempt, planAttempts } from "../models/routing/choose/plan.ts";
import { featureMask, selectLayers } from "../turn/feature.ts";
import { WholeAnswer, readToEnd } from "../turn/answer-kinds.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Layer, compose } from "../turn/turn.ts";
import type { DryKit, Feature } from "../features/kit.ts";

export interface DryRunPlan {
  /** The fault with which a guardrail blocks the request; undefined when the request would be served. */
  readonly refusal: Fault | undefined;
  /** The endpoints in the order in which they would be tried. */
  readonly plan: readonly PlannedAttempt[];
}

/** Plans a dry run. @throws Fault as a turn would, except for a block by a guardrail */
export type PlanDryRun = (request: TurnRequest, scope: Scope) => Promise<DryRunPlan>;

interface DryStack {
  readonly features: readonly Feature[];
  readonly endpointFeatures: readonly EndpointFeature[];
  readonly kit: DryKit;
}

export function dryRunPlanner({ features, endpointFeatures, kit }: DryStack): PlanDryRun {
  const layers = features.map((feature) => (feature.dryRun ?? feature.layer)(kit));
  return async (request, scope) => {
    const applying = selectLayers(layers, featureMask(features, request, scope.caller));
    const { sent, refusal } = await runThrough(applying, request, scope);
    const endpoints = kit.router.route(sent, scope);
    const attempts = refusal
      ? endpoints.map((endpoint) => ({ endpoint, request: sent }))
      : await attemptsOn(endpoints, sent, scope, { endpointFeatures, kit });
    return { refusal, plan: planAttempts(attempts, (endpoint, told) => kit.dialects.preview(endpoint, told)) };
  };
}

interface Outcome {
  /** The request as the last layer passes it on, or as it reached the layer that blocked it. */
  readonly sent: TurnRequest;
  readonly refusal: Fault | undefined;
}

async function runThrough(layers: readonly Layer[], request: TurnRequest, scope: Scope): Promise<Outcome> {
  let sent = request;
  const last = compose(layers, (final) => {
    sent = final;
    return new WholeAnswer([]);
  });
  try {
    await readToEnd(last(request, scope));
    return { sent, refusal: undefined };
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== FaultReason.GUARDRAIL_BLOCKED) throw error;
    return { sent, refusal: error };
  }
}

/** Builds the request for each endpoint. An endpoint unfit for the request is left out if another can serve it. */
async function attemptsOn(
  endpoints: readonly Endpoint[],
  request: TurnRequest,
  scope: Scope,
  { endpointFeatures, kit }: Omit<DryStack, "features">,
): Promise<readonly OutgoingRequest[]> {
  const { stages } = scope.trace;
  const attempts: OutgoingRequest[] = [];
  let failure: unknown;
  for (const endpoint of endpoints) {
    const noted = stages.length;
    const layers = endpointFeatures.map(({ layer }) => layer(endpoint, { files: kit.files, dialects: kit.dialects }));
    try {
      const { sent, refusal } = await runThrough(layers, request, scope);
      if (refusal) throw refusal;
      // The receipt lists only the fields dropped for the first endpoint.
      if (attempts.length > 0) stages.length = noted;
      attempts.push({ endpoint, request: sent });
    } catch (error) {
      stages.length = noted;
      failure = error;
    }
  }
  if (attempts.length === 0 && failure !== undefined) throw failure;
  return attempts;
}
