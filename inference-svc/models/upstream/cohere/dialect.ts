/** The dialect of Cohere's Chat API, version 2 (https://docs.cohere.com/reference/chat), which compatible servers support as well. */
import type { TurnRequest } from "../../../turn/request.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Refusal } from "../dialect.ts";
import { cohereForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { noHostedTools, refuseInput, refuseTools, unsupportedMessage } from "../translate/unsupported-inputs.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { cohereEmbeddings } from "./embeddings.ts";
import { cohereError } from "./error.ts";
import { refuseCoherePart } from "./parts.ts";
import { cohereBody } from "./request.ts";
import { CohereTranslator } from "./stream.ts";

export const cohere: Dialect = {
  path: () => "/v2/chat",
  framing: serverSentEvents,
  headers: bearer,
  refusal: refuseCohere,
  body: cohereBody,
  open: (request, target, emit) => new CohereTranslator(request, target, emit),
  error: cohereError,
  embeddings: cohereEmbeddings,
};

export function refuseCohere(request: TurnRequest): Refusal | undefined {
  const refusal = refuseTools(request, noHostedTools) ?? refuseInput(request.input, refuseCoherePart);
  if (refusal) return refusal;
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  // Cohere answers 400 to a response format together with tools.
  const isJson = request.textFormat !== undefined && request.textFormat.type !== "text";
  return isJson && SentTools.of(request, cohereForm).list.length > 0
    ? { path: "text.format", message: unsupportedMessage("a JSON format beside tools") }
    : undefined;
}
