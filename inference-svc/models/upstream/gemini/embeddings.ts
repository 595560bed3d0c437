/** Embeddings of Google's Gemini API (https://ai.google.dev/api/embeddings). */
import type { Dialect } from "../dialect.ts";
import { EmbeddingTranslator, type VectorFormat } from "../embedding/translator.ts";
import { listEntries, findMember, readInputTokens, refuseTokenIds, vectorAt } from "../embedding/vectors.ts";
import { arrayJson, isObject, objectJson } from "../json.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { readGoogleError } from "../translate/google-error.ts";
import { modelPath } from "./model-path.ts";

const format: VectorFormat = {
  vectors: (_, source) =>
    listEntries(source, findMember(source, 0, "embeddings")).map(({ start }) => vectorAt(source, start, "values")),
  usage: ({ usageMetadata: usage }) => (isObject(usage) ? readInputTokens(usage.promptTokenCount) : undefined),
};

export const geminiEmbeddings: Dialect = {
  path: (_, { upstreamModel }) => `/${modelPath(upstreamModel)}:batchEmbedContents`,
  framing: serverSentEvents,
  headers: (key) => (key === undefined ? {} : { "x-goog-api-key": key }),
  refusal: refuseTokenIds,
  // Google's maximum for one call.
  maxInputs: () => 100,
  body: ({ input, embedding }, { upstreamModel }) =>
    objectJson({
      requests: arrayJson(
        input.map(({ content }) => ({
          model: upstreamModel.includes("/") ? upstreamModel : `models/${upstreamModel}`,
          content: { parts: [{ text: content }] },
          taskType: embedding?.inputType,
          outputDimensionality: embedding?.dimensions,
        })),
      ),
    }),
  open: (request, target, emit) => new EmbeddingTranslator(format, request, target, emit),
  error: readGoogleError,
};
