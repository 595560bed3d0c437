/** Estimates the number of tokens in a turn's prompt, without opening the turn or calling a provider. */
import type { Client } from "@grpc/grpc-js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Exchange } from "../http/context.ts";
import type { DoorTurn } from "./door.ts";
import { readWholeBody } from "./body.ts";

export interface CountTokensDeps {
  readonly limits: Limits;
  /** Connection to any inference process: all count alike. */
  readonly inference: Client;
  readonly token: ServiceToken;
}

/** The kind of body in which every member is parsed. */
const wholeParsed = { unparsed: undefined };

/** @param read converts the body to the turn whose prompt is counted  @throws Fault */
export async function countTokens(
  { limits, inference, token }: CountTokensDeps,
  exchange: Exchange,
  read: (body: Buffer, members: readonly JsonMember[]) => Pick<DoorTurn, "request" | "explain">,
): Promise<number> {
  const { body, members } = await readWholeBody(limits, exchange, wholeParsed);
  const { request, explain } = read(body, members);
  const counted = call(
    inference,
    InferenceService.method.countTokens,
    { $typeName: "sluice.inference.v1.CountTokensRequest", request },
    serviceMetadata(token, exchange),
    limits.turn_ms,
  );
  const { inputTokens } = await counted.catch((error: unknown) => {
    throw explain ? explain(Fault.from(error)) : error;
  });
  return inputTokens;
}
