/** GET /api/v1/models/{author}/{slug}/endpoints: who serves a model. */
import { create } from "@bufbuild/protobuf";
import type { Endpoint, Measured } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import { InferenceService, type Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { parametersOf } from "./parameters.ts";
import { type ListCaller, type ListParts, architectureJson, pricingJson, timeoutMs } from "./parts.ts";
import { slugOf } from "./slug.ts";

interface Served {
  readonly model: Model;
  readonly endpoints: readonly Endpoint[];
}

/** @throws Fault NOT_FOUND naming the model */
export async function findModel(
  { inference, token }: ListParts,
  slug: string,
  { requestId, trace }: ListCaller,
): Promise<Served> {
  const method = InferenceService.method.listEndpoints;
  const metadata = serviceMetadata(token, { requestId, trace });
  const input = create(method.input, { model: slug });
  const { model, endpoints } = await call(inference, method, input, metadata, timeoutMs);
  if (!model) throw new Fault(FaultReason.INTERNAL);
  return { model, endpoints };
}

/** @param path of the request, undecoded */
export async function listEndpoints(parts: ListParts, path: string, caller: ListCaller): Promise<unknown> {
  const { model, endpoints } = await findModel(parts, slugOf(path.replace(/\/endpoints$/, "")), caller);
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

/** Of the values that clients know: not well. */
const inOutageStatus = -2;

function endpointJson(endpoint: Endpoint, model: Model): Record<string, unknown> {
  const parameters = parametersOf(endpoint.supportedParameters, endpoint.parametersUnknown);
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
    uptime_last_5m: null,
    uptime_last_30m: null,
    uptime_last_1d: null,
    latency_last_30m: percentilesJson(endpoint.latencyMs),
    throughput_last_30m: percentilesJson(endpoint.throughput),
  };
}

function toolChoice(parameters: readonly string[]): Record<string, boolean> {
  const tools = parameters.includes("tools");
  const forced = tools && parameters.includes("tool_choice");
  return { auto: tools, none: tools, function: forced, required: forced };
}

const percentilesJson = (measured: Measured | undefined): unknown =>
  measured
    ? { p50: rounded(measured.p50), p75: rounded(measured.p75), p90: rounded(measured.p90), p99: rounded(measured.p99) }
    : null;

/** They are known to within a few per cent. */
const rounded = (value: number): number => Number(value.toPrecision(3));
