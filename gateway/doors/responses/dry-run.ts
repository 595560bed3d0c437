/** Serves POST /responses/dry-run: shows how POST /responses would treat the same body. */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { EdgeContext } from "../../edge/http/context.ts";
import type { LanePool } from "../../lane/pool.ts";
import { readWholeBody } from "../../edge/turns/body.ts";
import { readSessionId, readTags } from "../../edge/turns/prepare.ts";
import { responsesDoor } from "./door.ts";
import { parseRequest } from "./request.ts";
import { warnAboutUnknownFields } from "../../edge/turns/unknown-fields.ts";

export interface DryRunDeps {
  readonly access: Access;
  readonly limits: Limits;
  readonly pool: Pick<LanePool, "requireKnown">;
  /** Connection to any inference process: all decide alike, except for their own measurements of endpoints. */
  readonly inference: Client;
  readonly token: ServiceToken;
}

/**
 * Returns the receipt as JSON.  @throws Fault for whatever refuses the turn before a provider is called, except that the receipt reports a block by a
 * guardrail
 */
export async function dryRun(
  { access, limits, pool, inference, token }: DryRunDeps,
  context: EdgeContext,
): Promise<Uint8Array> {
  const { body, members } = await readWholeBody(limits, context, responsesDoor);
  const sessionId = readSessionId(context.req.headers);
  const { request } = parseRequest(body, members, { serviceMetadata: true, sessionId });
  request.tags = readTags(context.req.headers);
  warnAboutUnknownFields(context.res, request);
  pool.requireKnown(request);
  const { receiptJson } = await call(
    inference,
    InferenceService.method.dryRun,
    { $typeName: "sluice.inference.v1.DryRunRequest", request, policyGeneration: access.generation },
    serviceMetadata(token, context),
    limits.turn_ms,
  );
  return receiptJson;
}
