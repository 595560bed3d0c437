/** GET /api/v1/providers: who serves models here. */
import { create } from "@bufbuild/protobuf";
import type { Provider } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { type ListCaller, type ListParts, timeoutMs } from "./parts.ts";

export async function listProviders(
  { inference, token }: ListParts,
  { requestId, trace }: ListCaller,
): Promise<unknown> {
  const method = InferenceService.method.listProviders;
  const metadata = serviceMetadata(token, { requestId, trace });
  const { providers } = await call(inference, method, create(method.input), metadata, timeoutMs);
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
