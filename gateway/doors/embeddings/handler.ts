/** Serves POST /embeddings: passes the input on as the client's bytes, and writes the vectors unchanged. */
import type { Client } from "@grpc/grpc-js";
import type { EmbedRequest, EmbedResponse } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Compat } from "@sluice/proto/config/config-file.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/lib/limits/meter.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { readBody } from "../../edge/http/body.ts";
import type { EdgeContext } from "../../edge/http/context.ts";
import { writeJsonText } from "../../edge/http/errors.ts";
import { reserveForParsing, scanBody } from "../../edge/turns/body.ts";
import type { Captures } from "../../edge/turns/captures.ts";
import { warnAboutUnknownFields } from "../../edge/turns/unknown-fields.ts";
import { type EmbeddingsReading, parseEmbeddings } from "./request.ts";

export interface EmbeddingsParts extends EmbeddingsReading {
  /** Connection to an inference process, in rotation. */
  readonly inference: Client;
  readonly token: ServiceToken;
  readonly captures: Captures;
}

/** A request with its source body. */
export interface ReadEmbeddings {
  readonly request: EmbedRequest;
  readonly body: Buffer;
  readonly members: readonly JsonMember[];
}

/** How long to wait, in milliseconds, past the deadline for inference-svc to report the timeout itself. */
const graceMs = 1_000;

/** @param admission ends with the request. @throws Fault */
export async function embed(parts: EmbeddingsParts, context: EdgeContext, admission: Admission): Promise<void> {
  const leaving = new AbortController();
  context.res.on("close", () => leaving.abort());
  let meter: TokenMeter | undefined;
  try {
    const read = await readEmbeddings(parts, context);
    const { request } = read;
    warnAboutUnknownFields(context.res, request);
    if (admission.countsTokens) meter = new TokenMeter(request);
    const metadata = serviceMetadata(parts.token, context);
    const limitMs = request.deadlineMs + graceMs;
    const requestEmbedding = () =>
      call(parts.inference, InferenceService.method.embed, request, metadata, limitMs, leaving.signal);
    const answer = await requestEmbedding().catch((error: unknown) => {
      if (error instanceof Fault && error.isUnbegun) return requestEmbedding();
      throw error;
    });
    if (answer.usage) meter?.noteUsage(answer.usage);
    const { generationId } = answer;
    const json = answerJson(answer, parts.compat);
    if (context.caller.capturesContent) capture(parts, context, read, generationId, json);
    writeJsonText(context.res, json, { requestId: context.requestId, generationId });
  } finally {
    admission.leave(meter?.tokens(leaving.signal.aborted));
  }
}

/** The turn's id arrives with its answer: failed requests are not captured. */
function capture(
  { captures }: EmbeddingsParts,
  { caller, requestId, startedAt }: EdgeContext,
  read: ReadEmbeddings,
  generationId: string,
  json: Buffer,
): void {
  const captured = captures.begin({ caller, requestId, generationId, startedAt, ...read });
  captured?.add(json.toString());
  captured?.end();
}

export async function readEmbeddings(parts: EmbeddingsReading, { req, room }: EdgeContext): Promise<ReadEmbeddings> {
  const body = await readBody(req, parts.limits.body_bytes, room);
  const members = await scanBody(body, req);
  await reserveForParsing(room, body, members, "input");
  return { request: parseEmbeddings(parts, req.headers, body, members), body, members };
}

function answerJson(answer: EmbedResponse, compat: Compat): Buffer {
  const { embeddingsJson, model, serviceMetadataJson } = answer;
  const pieces: Uint8Array[] = [Buffer.from('{"object":"list","data":[')];
  for (const [index, json] of embeddingsJson.entries()) {
    pieces.push(Buffer.from(`${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":`), json, end);
  }
  const metadata = serviceMetadataMembers(serviceMetadataJson, compat.emit_metadata_alias ?? undefined);
  pieces.push(Buffer.from(`],"model":${JSON.stringify(model)},"usage":${usageJson(answer)}${metadata}}`));
  return Buffer.concat(pieces);
}

const end = Buffer.from("}");

/** Usage under OpenAI's names for embeddings, with the cost. */
function usageJson({ usage }: EmbedResponse): string {
  const tokens = usage?.inputTokens ?? 0;
  const cost = usage?.cost && toDollars(usage.cost.inputPicoUsd + usage.cost.outputPicoUsd);
  return JSON.stringify({
    prompt_tokens: tokens,
    total_tokens: tokens,
    ...(usage?.estimated && { is_estimated: true }),
    ...(cost !== undefined && { cost }),
  });
}
