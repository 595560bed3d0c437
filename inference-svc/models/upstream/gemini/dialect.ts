/** The dialect of Google's Gemini API (https://ai.google.dev/api/generate-content). */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Dialect, Refusal, Target } from "../dialect.ts";
import { geminiEmbeddings } from "./embeddings.ts";
import { readGoogleError } from "../translate/google-error.ts";
import { refuseBlank, refuseInput, refuseTools } from "../translate/unsupported-inputs.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { findHostedToolSupport, refuseNativeTools } from "./native-tools.ts";
import { modelPath } from "./model-path.ts";
import { refuseGeminiPart } from "./parts.ts";
import { geminiBody } from "./request.ts";
import { GeminiTranslator } from "./stream.ts";

export const gemini: Dialect = {
  path: ({ stream }, { upstreamModel }) =>
    `/${modelPath(upstreamModel)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  framing: serverSentEvents,
  headers: (key) => (key === undefined ? {} : { "x-goog-api-key": key }),
  refusal: refuseGemini,
  body: geminiBody,
  open: (request, target, emit) => new GeminiTranslator(request, target, emit),
  error: readGoogleError,
  embeddings: geminiEmbeddings,
};

export function refuseGemini(request: TurnRequest, target: Target): Refusal | undefined {
  return (
    refuseTools(request, findHostedToolSupport(target)) ??
    refuseNativeTools(request) ??
    refuseInput(request.input, refuseGeminiPart) ??
    refuseBlank(request)
  );
}
