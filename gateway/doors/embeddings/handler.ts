/** Serves POST /embeddings: passes the input on as the client's bytes, and writes the vectors unchanged. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client } from "@grpc/grpc-js";
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { EmbedRequest, EmbedResponse } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Compat, Limits } from "@sluice/proto/config/config-file.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";
import { createEmbeddings } from "../../contract/operations/embeddings.ts";
import { readBody } from "../../edge/http/body.ts";
import type { EdgeContext } from "../../edge/http/context.ts";
import { writeJsonText } from "../../edge/http/errors.ts";
import type { ScannedBody } from "../../edge/turns/body.ts";
import { mayKeepContent } from "../../edge/turns/storage.ts";
import type { CapturedTurn } from "../../edge/turns/captured-turn.ts";
import { type OpeningCall, type TurnOpeningDeps, type ReadTurn, openTurn } from "../../edge/turns/open.ts";
import type { Refusals } from "../../edge/turns/refusals.ts";
import { warnAboutUnknownFields } from "../../edge/turns/unknown-fields.ts";
import { type EmbeddingsReading, parseEmbeddings } from "./request.ts";

export interface EmbeddingsDeps extends EmbeddingsReading, TurnOpeningDeps {
  readonly limits: Limits;
  /** Connection to an inference process; calls rotate over the processes. */
  readonly inference: Client;
  readonly token: ServiceToken;
  readonly refusals: Pick<Refusals, "note">;
}

/** How long to wait, in milliseconds, past the deadline for inference-svc to report the timeout itself. */
const graceMs = 1_000;

export const embeddingsDoor = {
  name: "embeddings",
  path: `${basePath}${createEmbeddings.path}`,
  unparsed: "input",
  repeats: false,
  refersToItems: false,
} as const;

/** Serves the request. @throws Fault */
export const embed = (parts: EmbeddingsDeps, context: EdgeContext): Promise<void> =>
  openTurn(parts, new EmbedCall(parts, context));

interface ReadEmbeddings extends ReadTurn {
  readonly request: EmbedRequest;
}

class EmbedCall implements OpeningCall<ReadEmbeddings> {
  readonly #parts: EmbeddingsDeps;
  readonly #context: EdgeContext;
  readonly #leaving = new AbortController();
  readonly caller: Caller;
  readonly keyHash: string;
  readonly requestId: string;
  readonly trace: TraceHeaders;
  readonly startedAt: number;
  readonly door = embeddingsDoor;
  readonly res: ServerResponse;
  readonly client: IncomingMessage;
  readonly bodyRoom: Reservation;
  route = "";
  admission: Admission | undefined = undefined;
  captured: CapturedTurn | undefined = undefined;

  constructor(parts: EmbeddingsDeps, context: EdgeContext) {
    this.#parts = parts;
    this.#context = context;
    this.caller = context.caller;
    this.keyHash = context.keyHash;
    this.requestId = context.requestId;
    this.trace = context.trace;
    this.startedAt = context.startedAt;
    this.res = context.res;
    this.client = context.req;
    this.bodyRoom = context.room;
    this.res.on("close", () => this.#leaving.abort());
  }

  readBody(): Buffer | Promise<Buffer> {
    return readBody(this.client, this.#parts.limits.body_bytes, this.bodyRoom);
  }

  read({ body, members }: ScannedBody): ReadEmbeddings {
    return { request: parseEmbeddings(this.#parts, this.client.headers, body, members) };
  }

  async open({ request }: ReadEmbeddings, source: ScannedBody): Promise<void> {
    const { captures, compat } = this.#parts;
    const { res, requestId } = this;
    try {
      warnAboutUnknownFields(res, request);
      const answer = await this.#requestEmbedding(request);
      if (answer.usage) this.admission?.meter?.noteUsage(answer.usage);
      const { generationId } = answer;
      const json = answerJson(answer, compat);
      // Content can be captured only once the answer has brought the generation id, so failed requests are not captured.
      const isCaptured = this.caller.capturesContent && mayKeepContent(this, request, source);
      const captured = isCaptured ? captures.begin(this, { request, generationId }, source.body) : undefined;
      captured?.add(json.toString());
      captured?.end();
      writeJsonText(res, json, { requestId, generationId });
    } finally {
      this.admission?.leave(this.#leaving.signal.aborted);
    }
  }

  /** Repeats a call once if its process could not begin it. */
  async #requestEmbedding(request: EmbedRequest): Promise<EmbedResponse> {
    try {
      return await this.#requestOnce(request);
    } catch (error) {
      if (error instanceof Fault && error.isUnbegun) return await this.#requestOnce(request);
      throw error;
    }
  }

  #requestOnce(request: EmbedRequest): Promise<EmbedResponse> {
    const { inference, token } = this.#parts;
    const metadata = serviceMetadata(token, this.#context);
    const limitMs = request.deadlineMs + graceMs;
    return call(inference, InferenceService.method.embed, request, metadata, limitMs, this.#leaving.signal);
  }

  refused(error: unknown): never {
    this.#parts.refusals.note(this, this.door.name, Fault.from(error), undefined);
    throw error;
  }
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
