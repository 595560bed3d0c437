/** Embeddings of Cohere's API, version 2 (https://docs.cohere.com/reference/embed), a format Bedrock takes as well. */
import { openBrace } from "@sluice/proto/lib/json/bytes.js";
import type { TurnRequest } from "../../../turn/request.ts";
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Target } from "../dialect.ts";
import { EmbeddingTranslator, type VectorFormat } from "../embedding/translator.ts";
import { listEntries, findMember, readInputTokens, refuseTokenIds, textAt } from "../embedding/vectors.ts";
import { isObject, objectJson } from "../json.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { cohereError } from "./error.ts";

/** Maximum texts per call at Cohere. */
export const maxCohereTexts = 96;

/**
 * Purpose of the vectors when the request names none: models of version 3 and later refuse a call without it, and most
 * vectors are stored for search.
 */
const defaultInputType = "search_document";

/** The format of Cohere's vectors. Older models on Bedrock answer with a list; all others with an object by type of number. */
export const cohereVectors: VectorFormat = {
  vectors: (_, source) => {
    const embeddings = findMember(source, 0, "embeddings");
    const isTyped = embeddings !== undefined && source[embeddings.start] === openBrace;
    const list = isTyped ? findMember(source, embeddings.start, "float") : embeddings;
    return listEntries(source, list).map((span) => textAt(source, span));
  },
  usage: ({ meta }) =>
    isObject(meta) && isObject(meta.billed_units) ? readInputTokens(meta.billed_units.input_tokens) : undefined,
};

/** @param model name of the model; absent if the path contains it */
export const cohereEmbeddingsBody = ({ input, embedding }: TurnRequest, model: Target["upstreamModel"] | undefined) =>
  objectJson({
    model,
    texts: input.map(({ content }) => content),
    input_type: embedding?.inputType ?? defaultInputType,
    embedding_types: ["float"],
    output_dimension: embedding?.dimensions,
  });

export const cohereEmbeddings: Dialect = {
  path: () => "/v2/embed",
  framing: serverSentEvents,
  headers: bearer,
  refusal: refuseTokenIds,
  maxInputs: () => maxCohereTexts,
  body: (request, { upstreamModel }) => cohereEmbeddingsBody(request, upstreamModel),
  open: (request, target, emit) => new EmbeddingTranslator(cohereVectors, request, target, emit),
  error: cohereError,
};
