/** Serves POST /embeddings/dry-run: shows how POST /embeddings would treat the same body. */
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { EdgeContext } from "../../edge/http/context.ts";
import { readWholeBody } from "../../edge/turns/body.ts";
import { warnAboutUnknownFields } from "../../edge/turns/unknown-fields.ts";
import { type EmbeddingsDeps, embeddingsDoor } from "./handler.ts";
import { parseEmbeddings } from "./request.ts";

/**
 * Returns the receipt as JSON.  @throws Fault for whatever refuses the request before a provider is called, except that the receipt reports a block
 * by a guardrail
 */
export async function embedDryRun(parts: EmbeddingsDeps, context: EdgeContext): Promise<Uint8Array> {
  const { body, members } = await readWholeBody(parts.limits, context, embeddingsDoor);
  const request = parseEmbeddings(parts, context.req.headers, body, members);
  warnAboutUnknownFields(context.res, request);
  const { inference, token } = parts;
  const metadata = serviceMetadata(token, context);
  const input = { $typeName: "sluice.inference.v1.DryRunEmbedRequest", request } as const;
  const answer = await call(inference, InferenceService.method.dryRunEmbed, input, metadata, parts.limits.turn_ms);
  return answer.receiptJson;
}
