/** Embeddings of servers that are compatible with OpenAI's API. */
import { bearer } from "../credentials/bearer.ts";
import type { Dialect, Target } from "../dialect.ts";
import { EmbeddingTranslator, type VectorFormat } from "../embedding/translator.ts";
import {
  type VectorJson,
  bytesAsNumbers,
  findMember,
  listEntries,
  readInputTokens,
  vectorAt,
} from "../embedding/vectors.ts";
import { providerFailed, providerFault } from "../failure.ts";
import { isObject, objectJson, objects } from "../json.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { chatError } from "./error.ts";

const format: VectorFormat = {
  vectors: (answer, source) => {
    if (answer.error !== undefined && answer.error !== null) throw providerFault(chatError(undefined, answer));
    return readData(answer.data, source);
  },
  usage: ({ usage }) => (isObject(usage) ? readInputTokens(usage.prompt_tokens ?? usage.total_tokens) : undefined),
};

/** Perplexity's format of vectors: base64 of signed bytes. It refuses the formats `float` and `base64`. */
const byteFormat: VectorFormat = {
  ...format,
  vectors: (answer, source) => format.vectors(answer, source).map(bytesAsNumbers),
};

const givesBytes = ({ vendor }: Target): boolean => vendor === "perplexity";

/** The vectors in the order of their index; some servers leave the index out when it is the position in the list. */
function readData(data: unknown, source: Buffer): readonly VectorJson[] {
  const entries = listEntries(source, findMember(source, 0, "data"));
  const vectors = entries.map((): VectorJson | undefined => undefined);
  for (const [place, { start }] of entries.entries()) {
    const index = objects(data)[place]?.index ?? place;
    if (!isFree(vectors, index)) throw providerFailed("a vector whose index is wrong");
    vectors[index] = vectorAt(source, start, "embedding");
  }
  return vectors as VectorJson[];
}

/** Whether the index is within the list and no vector has it yet. */
const isFree = (vectors: readonly unknown[], index: unknown): index is number =>
  typeof index === "number" &&
  Number.isInteger(index) &&
  index >= 0 &&
  index < vectors.length &&
  vectors[index] === undefined;

export const chatEmbeddings: Dialect = {
  path: () => "/embeddings",
  framing: serverSentEvents,
  headers: bearer,
  refusal: () => undefined,
  body: ({ input, embedding }, target, onDropped) => {
    const { upstreamModel, original } = target;
    const { tokens, encodingFormat, dimensions, inputType } = embedding ?? {};
    if (original && inputType !== undefined) onDropped("input_type", "OpenAI's embeddings have no such setting");
    return objectJson({
      model: upstreamModel,
      input: tokens ?? input.map(({ content }) => content),
      encoding_format: givesBytes(target) ? undefined : encodingFormat,
      dimensions,
      input_type: original ? undefined : inputType,
    });
  },
  open: (request, target, emit) =>
    new EmbeddingTranslator(givesBytes(target) ? byteFormat : format, request, target, emit),
  error: chatError,
};
