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
import { invalidKey, isServiceToken, parseBearer, serviceTokenHeader } from "@sluice/proto/runtime/rpc/caller.js";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { listEndpoints, listModels, listProviders } from "./routing/listing.ts";
import type { Serving } from "./serving.ts";

export interface ListParts {
  readonly access: Access;
  readonly serving: Serving;
  readonly records: EndpointRecords;
  readonly token: ServiceToken;
}

type Lists = Pick<ServiceImpl<typeof InferenceService>, "listModels" | "listEndpoints" | "listProviders">;

export const lists = ({ access, serving, records, token }: ListParts): Lists => ({
  async listModels(_, context) {
    await requireCaller(access, token, context);
    return create(ListModelsResponseSchema, { models: listModels(serving.catalog) });
  },
  async listEndpoints({ model }, context) {
    await requireCaller(access, token, context);
    const found = listEndpoints(serving.catalog, records, model);
    if (!found) throw modelNotFound(model);
    return create(ListEndpointsResponseSchema, found);
  },
  async listProviders(_, context) {
    await requireCaller(access, token, context);
    return create(ListProvidersResponseSchema, { providers: listProviders(serving.catalog, records) });
  },
});

/** No slug is longer. */
const shownCharacters = 256;

const modelNotFound = (slug: string): Fault =>
  new Fault(FaultReason.NOT_FOUND, `Model not found: ${slug.slice(0, shownCharacters)}`, {
    origin: FaultOrigin.CLIENT,
  });

/** @throws Fault INVALID_API_KEY and its like */
async function requireCaller(access: Access, token: ServiceToken, { requestHeader }: HandlerContext): Promise<void> {
  if (isServiceToken(requestHeader.get(serviceTokenHeader), token)) return;
  const { keyHash } = parseBearer(requestHeader.get("authorization"));
  const { caller } = await access.resolve(keyHash);
  if (!caller) throw invalidKey();
}
