/**
 * Embeddings on Amazon Bedrock. There is no common format: the models of each vendor are called in the vendor's format
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html).
 */
import { cohereEmbeddingsBody, cohereVectors, maxCohereTexts } from "../cohere/embeddings.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Target } from "../dialect.ts";
import { EmbeddingTranslator, type VectorFormat } from "../embedding/translator.ts";
import { readInputTokens, refuseTokenIds, vectorAt } from "../embedding/vectors.ts";
import { objectJson } from "../json.ts";
import { converseError, findErrorType } from "./error.ts";
import { eventStream } from "./event-stream.ts";

const titanVectors: VectorFormat = {
  vectors: (_, source) => [vectorAt(source, 0, "embedding")],
  usage: ({ inputTextTokenCount: count }) => readInputTokens(count),
};

const isTitan = ({ upstreamModel }: Target): boolean => upstreamModel.includes("amazon.titan-embed-text");
const isCohere = ({ upstreamModel }: Target): boolean => upstreamModel.includes("cohere.embed");

export const converseEmbeddings: Dialect = {
  path: (_, { upstreamModel }) => `/model/${encodeURIComponent(upstreamModel)}/invoke`,
  framing: eventStream,
  headers: bearer,
  refusal: (request, target) =>
    isTitan(target) || isCohere(target)
      ? refuseTokenIds(request)
      : { path: "model", message: "of the embedding models on Bedrock, those of Titan and Cohere are supported" },
  // Titan takes one text per call.
  maxInputs: (target) => (isTitan(target) ? 1 : maxCohereTexts),
  body: (request, target, onDropped) => {
    if (!isTitan(target)) return cohereEmbeddingsBody(request, undefined);
    const { inputType, dimensions } = request.embedding ?? {};
    if (inputType !== undefined) onDropped("input_type", "Titan's embeddings have no such setting");
    return objectJson({ inputText: request.input[0]?.content, dimensions });
  },
  open: (request, target, emit) =>
    new EmbeddingTranslator(isTitan(target) ? titanVectors : cohereVectors, request, target, emit),
  error: (status, body, headers) => converseError(status, body, findErrorType(headers)),
};
