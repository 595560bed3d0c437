/** Serves POST /responses/dry-run: shows how POST /responses would decide about the same body. */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { RequestCaller } from "../../edge/http/context.ts";
import { readBody } from "../../edge/http/body.ts";
import type { LanePool } from "../../lane/pool.ts";
import { reserveForParsing, scanBody } from "../../edge/turns/body.ts";
import { responsesDoor } from "./door.ts";
import { parseRequest } from "./request.ts";
import { warnAboutUnknownFields } from "../../edge/turns/unknown-fields.ts";

export interface DryRunParts {
  readonly access: Access;
  readonly limits: Limits;
  readonly pool: Pick<LanePool, "requireKnown">;
  /** Connection to any inference process: all decide alike, except by their own measurements of endpoints. */
  readonly inference: Client;
  readonly token: ServiceToken;
}

/**
 * Returns the receipt as JSON.
 * @throws Fault as the turn would before the call of a provider; a block is reported in the receipt
 */
export async function dryRun(
  { access, limits, pool, inference, token }: DryRunParts,
  caller: RequestCaller,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Uint8Array> {
  const sessionId = request.headers["x-session-id"];
  const body = await readBody(request, limits.body_bytes, caller.room);
  const members = await scanBody(body, request);
  await reserveForParsing(caller.room, body, members, responsesDoor.unparsed);
  const { request: turn } = parseRequest(body, members, {
    serviceMetadata: true,
    ...(typeof sessionId === "string" && { sessionId }),
  });
  warnAboutUnknownFields(response, turn);
  pool.requireKnown(turn);
  const { receiptJson } = await call(
    inference,
    InferenceService.method.dryRun,
    {
      $typeName: "sluice.inference.v1.DryRunRequest",
      request: turn,
      policyGeneration: access.generation,
    },
    serviceMetadata(token, caller),
    limits.turn_ms,
  );
  return receiptJson;
}
