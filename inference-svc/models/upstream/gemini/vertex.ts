/**
 * The dialect of Gemini on Vertex AI, which has another format for embeddings
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api).
 */
import type { Dialect } from "../dialect.ts";
import { EmbeddingTranslator, type VectorFormat } from "../embedding/translator.ts";
import { listEntries, findMember, readInputTokens, vectorAt } from "../embedding/vectors.ts";
import { type JsonObject, arrayJson, isObject, objectJson } from "../json.ts";
import { gemini } from "./dialect.ts";
import { geminiEmbeddings } from "./embeddings.ts";
import { modelPath } from "./model-path.ts";

const format: VectorFormat = {
  vectors: (_, source) =>
    listEntries(source, findMember(source, 0, "predictions")).map(({ start }) =>
      vectorAt(source, findMember(source, start, "embeddings")?.start ?? start, "values"),
    ),
  usage: ({ predictions }) =>
    readInputTokens(
      (Array.isArray(predictions) ? predictions : []).reduce((sum: number, each) => sum + countTokens(each), 0),
    ),
};

function countTokens(prediction: unknown): number {
  const embeddings: JsonObject | undefined =
    isObject(prediction) && isObject(prediction.embeddings) ? prediction.embeddings : undefined;
  const count = isObject(embeddings?.statistics) ? embeddings.statistics.token_count : undefined;
  return typeof count === "number" ? count : 0;
}

const vertexEmbeddings: Dialect = {
  ...geminiEmbeddings,
  path: (_, { upstreamModel }) => `/${modelPath(upstreamModel)}:predict`,
  // Google's maxima for one call.
  maxInputs: ({ upstreamModel }) => (upstreamModel.startsWith("gemini-") ? 1 : 250),
  body: ({ input, embedding }) =>
    objectJson({
      instances: arrayJson(input.map(({ content }) => ({ content, task_type: embedding?.inputType }))),
      ...(embedding?.dimensions !== undefined && { parameters: { outputDimensionality: embedding.dimensions } }),
    }),
  open: (request, target, emit) => new EmbeddingTranslator(format, request, target, emit),
};

export const geminiOnVertex: Dialect = { ...gemini, embeddings: vertexEmbeddings };
