/** The lists: models, who serves one, providers. For anybody with a key, and for our own gateways. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  InferenceService,
  ListEndpointsResponseSchema,
  ListModelsResponseSchema,
  ListProvidersResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { readOnly } from "@sluice/proto/runtime/limits/decision.js";
import type { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/runtime/rpc/caller.js";
import { admitDirectly } from "./limits.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { listEndpoints, listModels, listProviders } from "./routing/listing.ts";
import type { Serving } from "./serving.ts";

export interface ListParts {
  readonly access: Access;
  readonly limiter: Limiter;
  readonly serving: Serving;
  readonly records: EndpointRecords;
  readonly token: ServiceToken;
}

type Lists = Pick<ServiceImpl<typeof InferenceService>, "listModels" | "listEndpoints" | "listProviders">;

export const lists = (parts: ListParts): Lists => ({
  async listModels(_, context) {
    await requireCaller(parts, context);
    return create(ListModelsResponseSchema, { models: listModels(parts.serving.catalog) });
  },
  async listEndpoints({ model }, context) {
    await requireCaller(parts, context);
    const found = listEndpoints(parts.serving.catalog, parts.records, model);
    if (!found) throw modelNotFound(model);
    return create(ListEndpointsResponseSchema, found);
  },
  async listProviders(_, context) {
    await requireCaller(parts, context);
    return create(ListProvidersResponseSchema, { providers: listProviders(parts.serving.catalog, parts.records) });
  },
});

/** No slug is longer. */
const shownCharacters = 256;

const modelNotFound = (slug: string): Fault =>
  new Fault(FaultReason.NOT_FOUND, `Model not found: ${slug.slice(0, shownCharacters)}`, {
    origin: FaultOrigin.CLIENT,
  });

/**
 * Lets our own gateways pass, which have counted the request; that of another caller counts as in the HTTP interface.
 * @throws Fault UNAUTHENTICATED, RATE_LIMITED
 */
async function requireCaller(parts: ListParts, { requestHeader, responseHeader }: HandlerContext): Promise<void> {
  if (isServiceToken(requestHeader.get(serviceTokenHeader), parts.token)) return;
  const { keyHash } = parseBearer(requestHeader.get("authorization"));
  await admitDirectly(parts, keyHash, responseHeader, readOnly);
}
