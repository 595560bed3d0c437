/** The dialect of Amazon Bedrock's Converse API, for models of all vendors. */
import type { TurnRequest } from "../../../turn/request.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Refusal, Target } from "../dialect.ts";
import { text } from "../json.ts";
import { refuseCacheMarks } from "../translate/blocks/cache-marks.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import { findSpecialInputs } from "../translate/special-inputs.ts";
import {
  noHostedTools,
  refuseBlank,
  refuseInput,
  refuseTools,
  unsupportedMessage,
} from "../translate/unsupported-inputs.ts";
import { takesCacheMarks } from "./cache-marks.ts";
import { converseEmbeddings } from "./embeddings.ts";
import { converseError, findErrorType } from "./error.ts";
import { eventStream } from "./event-stream.ts";
import { findFamily } from "./family.ts";
import { previewConversation } from "./messages.ts";
import { refuseConversePart } from "./parts.ts";
import { converseBody } from "./request.ts";
import { ConverseTranslator } from "./stream.ts";

export const converse: Dialect = {
  path: ({ stream }, { upstreamModel }) =>
    `/model/${encodeURIComponent(upstreamModel)}/${stream ? "converse-stream" : "converse"}`,
  framing: eventStream,
  headers: bearer,
  refusal: refuseConverse,
  body: converseBody,
  open: (request, target, emit) => new ConverseTranslator(request, target, emit),
  error: (status, body, headers) => converseError(status, body, findErrorType(headers)),
  embeddings: converseEmbeddings,
};

export function refuseConverse(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal =
    refuseTools(request, noHostedTools) ?? refuseInput(request.input, refuseConversePart) ?? refuseBlank(request);
  if (refusal) return refusal;
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  const cached = takesCacheMarks(target, findFamily(target.upstreamModel));
  return (cached ? refuseCacheMarks(request) : undefined) ?? findSoleBlockRefusal(request, target);
}

/** Refuses a message with a document and no text, to which Bedrock answers 400. */
function findSoleBlockRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const files = findSpecialInputs(request.input).some(({ part }) => part?.type === "input_file");
  const messages = files ? previewConversation(request, target).messages : [];
  const soleMessage = messages.find(
    ({ content }) => !content.some(({ type }) => type === "text") && content.some(isDocument),
  );
  const document = soleMessage?.content.find(isDocument);
  return document && { path: text(document.path), message: unsupportedMessage("a file without text beside it") };
}

const isDocument = ({ document }: Block): boolean => document !== undefined;
