/** Any server that speaks the format of Google's Gemini API (https://ai.google.dev/api/generate-content). */
import type { Dialect } from "../dialect.ts";
import { serverSentEvents } from "../sse.ts";
import { geminiError } from "./error.ts";
import { geminiRefusal } from "./refusal.ts";
import { geminiBody } from "./request.ts";
import { GeminiTranslator } from "./stream.ts";

/** A name with a collection in it, such as tunedModels/mine, stands as it is. */
const modelPath = (name: string): string => (name.includes("/") ? name : `models/${encodeURIComponent(name)}`);

export const gemini: Dialect = {
  path: ({ stream }, { upstreamModel }) =>
    `/${modelPath(upstreamModel)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
  framing: serverSentEvents,
  headers: (key) => (key === undefined ? {} : { "x-goog-api-key": key }),
  refusal: geminiRefusal,
  body: geminiBody,
  open: (request, target, emit) => new GeminiTranslator(request, target, emit),
  error: geminiError,
};
