/** Lists the catalogue, for clients with an API key and for Sluice's gateways, and the left-out providers, for administrators. */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  InferenceService,
  ListEndpointsResponseSchema,
  ListLeftOutProvidersResponseSchema,
  ListModelsResponseSchema,
  ListProvidersResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { LeftOut } from "@sluice/proto/config/config-file.js";
import { leftOutReason } from "@sluice/proto/config/left-out.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { readOnlyUse } from "@sluice/proto/lib/limits/decision.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { isServiceToken, keyHashHeader, parseBearer, serviceTokenHeader } from "@sluice/proto/lib/rpc/caller.js";
import { type Permissions, permissionsOf } from "../../turn/permissions.ts";
import { requireManager } from "./administrator.ts";
import { admitDirectly } from "./direct-admission.ts";
import type { EndpointRecords } from "../../models/routing/records/endpoint-record.ts";
import { listEndpoints, listModels, listProviders } from "../../models/routing/records/listing.ts";
import type { CurrentConfig } from "../../engine/current-config.ts";

export interface CatalogueDeps {
  readonly access: Access;
  readonly limiter: Limiter;
  readonly config: Pick<CurrentConfig, "catalog" | "file">;
  readonly records: EndpointRecords;
  readonly token: ServiceToken;
  /** Providers currently unusable. */
  readonly leftOut: () => readonly LeftOut[];
}

type CatalogueHandlers = Pick<
  ServiceImpl<typeof InferenceService>,
  "listModels" | "listEndpoints" | "listProviders" | "listLeftOutProviders"
>;

export const catalogueHandlers = (deps: CatalogueDeps): CatalogueHandlers => ({
  async listModels(_, context) {
    const permissions = await requireReader(deps, context);
    return create(ListModelsResponseSchema, { models: listModels(deps.config.catalog, permissions) });
  },
  async listEndpoints({ model }, context) {
    const permissions = await requireReader(deps, context);
    const found = listEndpoints(deps.config.catalog, deps.records, model, permissions);
    if (!found) throw modelNotFound(model);
    return create(ListEndpointsResponseSchema, found);
  },
  async listProviders(_, context) {
    const permissions = await requireReader(deps, context);
    const providers = listProviders(deps.config.catalog, deps.records, permissions);
    return create(ListProvidersResponseSchema, { providers });
  },
  async listLeftOutProviders(_, { requestHeader }) {
    await requireManager(deps, requestHeader);
    const providers = deps.leftOut().map((left) => ({ id: left.provider, reason: shownReason(left) }));
    return create(ListLeftOutProvidersResponseSchema, { providers });
  },
});

/**
 * The reason for leaving out a provider, as shown to clients. An error from an AI SDK package is not quoted, because it
 * names folders of the machine.
 */
const shownReason = (left: LeftOut): string =>
  left.problem === undefined ? leftOutReason(left) : "its package cannot be loaded; the log says why";

/** Maximum characters of a slug an error repeats, more than any slug of a catalogue has. */
const shownCharacters = 256;

const modelNotFound = (slug: string): Fault =>
  new Fault(FaultReason.NOT_FOUND, `Model not found: ${slug.slice(0, shownCharacters)}`, {
    origin: FaultOrigin.CLIENT,
  });

/**
 * The permissions of the key with which a client reads a list; undefined for gateways, which read everything. Sluice's
 * gateways have already counted the request; requests of other clients count towards their key's limits.
 * @throws Fault UNAUTHENTICATED, RATE_LIMITED
 */
async function requireReader(
  deps: CatalogueDeps,
  { requestHeader, responseHeader }: HandlerContext,
): Promise<Permissions | undefined> {
  const byDefault = deps.config.file.permissions.default;
  if (isServiceToken(requestHeader.get(serviceTokenHeader), deps.token)) {
    const keyHash = requestHeader.get(keyHashHeader);
    const caller = keyHash === null ? undefined : (await deps.access.resolve(keyHash)).caller;
    return caller && permissionsOf(caller, byDefault);
  }
  const { keyHash } = parseBearer(requestHeader.get("authorization"));
  const { caller } = await admitDirectly(deps, keyHash, responseHeader, readOnlyUse);
  return permissionsOf(caller, byDefault);
}
