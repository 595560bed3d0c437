/** Answers GET /providers, GET /providers/left-out and POST /providers/{id}/test: the providers of the configuration file. */
import type { Provider } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import { create } from "@bufbuild/protobuf";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { OperationCall } from "../../edge/http/context.ts";
import { type CatalogueCall, callCatalogue } from "./parts.ts";

export async function listProviders(call: CatalogueCall): Promise<object> {
  const { providers } = await callCatalogue(call, InferenceService.method.listProviders, {});
  return { data: providers.map(providerJson) };
}

const providerJson = (provider: Provider): Record<string, unknown> => ({
  slug: provider.id,
  name: provider.name,
  region: provider.region,
  tiers: provider.tiers,
  models: provider.models,
  data_policy: { retention: provider.retention, training: provider.training ?? null },
  status: provider.status === "" ? null : provider.status,
  headquarters: provider.headquarters ?? null,
  datacenters: null,
  privacy_policy_url: provider.privacyPolicyUrl ?? null,
  terms_of_service_url: provider.termsOfServiceUrl ?? null,
  status_page_url: provider.statusPageUrl ?? null,
});

export async function listLeftOutProviders(call: CatalogueCall): Promise<object> {
  const { providers } = await callCatalogue(call, InferenceService.method.listLeftOutProviders, {});
  return { data: providers.map(({ id: slug, reason }) => ({ slug, reason })) };
}

/** Timeout of the call: inference-svc ends the test of a provider after 30 s. */
const testTimeoutMs = 35_000;

export async function testProvider({
  parts: { inference, token },
  caller,
  parameters,
  body,
}: OperationCall<"/providers/{id}/test", unknown, { readonly model?: string }>): Promise<object> {
  const { method } = InferenceService;
  const request = create(method.testProvider.input, { providerId: parameters.id, model: body.model ?? "" });
  const tried = await call(inference, method.testProvider, request, serviceMetadata(token, caller), testTimeoutMs);
  const { inputTokens, outputTokens, failure } = tried;
  return {
    data: {
      ok: tried.ok,
      provider: tried.provider,
      model: tried.model,
      upstream_model: tried.upstreamModel,
      latency_ms: tried.latencyMs,
      outcome: tried.outcome ?? null,
      usage:
        inputTokens === undefined || outputTokens === undefined
          ? null
          : { input_tokens: inputTokens, output_tokens: outputTokens },
      cause: failure ? { kind: failure.kind, status: failure.status ?? null, message: failure.message } : null,
    },
  };
}
