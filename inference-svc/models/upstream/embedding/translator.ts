/** Reads the answer to an embeddings request: one JSON object with all vectors. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Batch, TurnEvent } from "../../../turn/turn.ts";
import type { Usage } from "../../../turn/usage.ts";
import type { Target, Translator } from "../dialect.ts";
import { answerEnd } from "../events/answer-end.ts";
import { providerFailed } from "../failure.ts";
import { type JsonObject, parseObject } from "../json.ts";
import { type VectorJson, checkVectors } from "./vectors.ts";

/** Differences between the formats of embeddings. */
export interface VectorFormat {
  /** Finds the vectors, in the order of the inputs. @param source the bytes of the answer, a JSON object */
  vectors(answer: JsonObject, source: Buffer): readonly VectorJson[];
  /** Reads the usage; absent when the provider counts nothing. */
  usage(answer: JsonObject): Usage | undefined;
}

/** Maximum bytes of all vectors: more would not fit into one message between the processes. */
const maxVectorBytes = 40 * 1024 * 1024;

/** Number of texts or lists of token ids in a request. */
export const countInputs = ({ input, embedding }: TurnRequest): number => embedding?.tokens?.length ?? input.length;

/** The event with the vectors as JSON texts, in the order of the inputs. */
export const vectorsItem = (vectors: readonly string[]): TurnEvent => ({
  type: "item.end",
  index: 0,
  item: { type: "embeddings", id: "", vectors },
});

/** The vectors in a batch. */
export const readVectors = (batch: Batch): readonly string[] =>
  batch.flatMap((event) =>
    event.type === "item.end" && event.item.type === "embeddings" ? (event.item["vectors"] as readonly string[]) : [],
  );

export class EmbeddingTranslator implements Translator {
  readonly #format: VectorFormat;
  readonly #request: TurnRequest;
  readonly #tier: string;
  readonly #emit: (event: TurnEvent) => void;
  done = false;
  usage: Usage | undefined;

  constructor(format: VectorFormat, request: TurnRequest, { tier }: Target, emit: (event: TurnEvent) => void) {
    this.#format = format;
    this.#request = request;
    this.#tier = tier;
    this.#emit = emit;
  }

  get finished(): boolean {
    return this.done;
  }

  event(_name: string | undefined, data: string): void {
    const { embedding } = this.#request;
    if (!embedding) throw new Error("no embedding request");
    const answer = parseObject(data);
    // Servers may send white space before a slow answer, to keep the connection open.
    const found = this.#format.vectors(answer, Buffer.from(data.trimStart()));
    this.usage = this.#format.usage(answer);
    const vectors = checkVectors(found, countInputs(this.#request), embedding);
    if (vectors.reduce((sum, { length }) => sum + length, 0) > maxVectorBytes)
      throw providerFailed(`vectors of more than ${maxVectorBytes} bytes`);
    this.done = true;
    this.#emit(vectorsItem(vectors));
    this.#emit(answerEnd("completed", undefined, this.usage, this.#tier));
  }

  close(): void {
    if (!this.done) throw providerFailed("no vectors");
  }

  cut(): void {
    throw providerFailed("no vectors");
  }
}
