/** Answers GET /models/{author}/{slug}/endpoints: a model and its endpoints. */
import type { Endpoint, Measured } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import { InferenceService, type Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { toPublicParameters } from "./parameters.ts";
import { type CatalogueCall, architectureJson, callCatalogue, pricingJson } from "./parts.ts";

interface Served {
  readonly model: Model;
  readonly endpoints: readonly Endpoint[];
}

/** Path parameters of a model: its author and the rest of its slug, or the whole slug in one segment. */
export type ModelParameters = { readonly author: string; readonly slug: string } | { readonly model: string };

/** @throws Fault NOT_FOUND with the model's name */
export async function findModel(call: CatalogueCall, parameters: ModelParameters): Promise<Served> {
  const slug = "model" in parameters ? parameters.model : `${parameters.author}/${parameters.slug}`;
  const { model, endpoints } = await callCatalogue(call, InferenceService.method.listEndpoints, { model: slug });
  if (!model) throw new Fault(FaultReason.INTERNAL);
  return { model, endpoints };
}

export async function listEndpoints(call: CatalogueCall & { readonly parameters: ModelParameters }): Promise<object> {
  const { model, endpoints } = await findModel(call, call.parameters);
  return {
    data: {
      id: model.id,
      name: model.name,
      created: Number(model.created),
      description: model.description,
      architecture: architectureJson(model),
      endpoints: endpoints.map((endpoint) => endpointJson(endpoint, model)),
    },
  };
}

/** Status code for "degraded" in public model lists. */
const inOutageStatus = -2;

function endpointJson(endpoint: Endpoint, model: Model): Record<string, unknown> {
  const parameters = toPublicParameters(endpoint.supportedParameters, endpoint.parametersUnknown);
  return {
    name: `${endpoint.providerName} | ${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: endpoint.providerName,
    tag: endpoint.tag,
    service_tier: endpoint.tier,
    region: endpoint.region,
    quantization: endpoint.quantization,
    context_length: model.contextLength,
    max_completion_tokens: model.maxOutputTokens ?? null,
    max_prompt_tokens: null,
    pricing: pricingJson(endpoint.pricing),
    supported_parameters: parameters,
    supports_tool_choice: toolChoice(parameters),
    supports_implicit_caching: endpoint.cachesByItself,
    supports_voice_cloning: false,
    data_policy: { zero_retention: endpoint.keepsNothing },
    distillable: endpoint.distillable,
    status: endpoint.inOutage ? inOutageStatus : 0,
    uptime_last_5m: percentJson(endpoint.uptime5m),
    uptime_last_30m: percentJson(endpoint.uptime30m),
    uptime_last_1d: percentJson(endpoint.uptime1d),
    latency_last_30m: percentilesJson(endpoint.latencyMs),
    throughput_last_30m: percentilesJson(endpoint.throughput),
  };
}

function toolChoice(parameters: readonly string[]): Record<string, boolean> {
  const tools = parameters.includes("tools");
  const forced = tools && parameters.includes("tool_choice");
  return { auto: tools, none: tools, function: forced, required: forced };
}

const percentJson = (share: number | undefined): number | null =>
  share === undefined ? null : Number(share.toFixed(2));

const percentilesJson = (measured: Measured | undefined): unknown =>
  measured
    ? { p50: rounded(measured.p50), p75: rounded(measured.p75), p90: rounded(measured.p90), p99: rounded(measured.p99) }
    : null;

/** Rounds a measured figure to three significant digits, since percentiles are accurate only to within a few per cent. */
const rounded = (value: number): number => Number(value.toPrecision(3));
