/** Checks the vectors of an answer, and converts them to the encoding the client requested. */
import { openBrace, openBracket } from "@sluice/proto/lib/json/bytes.js";
import { type ByteSpan, elementsOf, membersOf } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { EmbeddingSettings, TurnRequest } from "../../../turn/request.ts";
import type { Usage } from "../../../turn/usage.ts";
import type { Refusal } from "../dialect.ts";
import { providerFailed } from "../failure.ts";
import { parseCount } from "../json.ts";

const noCounts = { cachedTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0 };

/** Usage of a call by the provider's count of input tokens. @returns undefined without a valid count */
export function readInputTokens(count: unknown): Usage | undefined {
  const inputTokens = parseCount(count);
  return inputTokens === 0 ? undefined : { inputTokens, ...noCounts };
}

export const refuseTokenIds = ({ embedding }: TurnRequest): Refusal | undefined =>
  embedding?.tokens && { path: "input", message: "no provider of this model takes token ids; send the texts" };

/** A vector as its provider wrote it: the JSON text of an array of numbers, or of a base64 string. */
export type VectorJson = string;

const floatBytes = 4;

/**
 * @param vectors in the order of the inputs
 * @param count number of inputs
 * @returns the JSON text of each vector: copied if it has the right form already
 * @throws Fault INVALID_REQUEST for vectors of another length than requested, because such a provider ignores
 * `dimensions` every time; PROVIDER_FAILED for vectors that cannot belong to the request
 */
export function checkVectors(
  vectors: readonly VectorJson[],
  count: number,
  { encodingFormat, dimensions }: EmbeddingSettings,
): readonly string[] {
  if (vectors.length !== count) throw providerFailed(`${vectors.length} vectors for ${count} inputs`);
  let length: number | undefined;
  const texts = vectors.map((json) => {
    const { text, dimensions: own } = inFormat(json, encodingFormat);
    length ??= own;
    if (own === 0 || own !== length) throw providerFailed(`a vector of ${own} numbers, not ${length}`);
    return text;
  });
  if (dimensions !== undefined && length !== undefined && length !== dimensions)
    throw invalid("dimensions", `the provider of this model gives vectors of ${length} numbers only; leave it out`);
  return texts;
}

interface Formatted {
  readonly text: string;
  readonly dimensions: number;
}

function inFormat(json: VectorJson, format: EmbeddingSettings["encodingFormat"]): Formatted {
  const value: unknown = JSON.parse(json);
  if (typeof value === "string") {
    const floats = readFloats(value);
    return { text: format === "base64" ? json : JSON.stringify(Array.from(floats)), dimensions: floats.length };
  }
  if (!isVector(value)) throw providerFailed("a vector that is no array of finite numbers");
  return { text: format === "float" ? json : JSON.stringify(toBase64(value)), dimensions: value.length };
}

/** Whether a value is a list of finite numbers. JSON has no NaN, and a number that is too large is parsed as infinite. */
const isVector = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.every((number) => Number.isFinite(number));

/** Reads 32-bit floats, which are little-endian on every machine. */
function readFloats(base64: string): Float64Array {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length % floatBytes !== 0) throw providerFailed("a vector that is no list of 32-bit floats");
  const floats = new Float64Array(bytes.length / floatBytes);
  for (let index = 0; index < floats.length; index++) {
    const number = bytes.readFloatLE(index * floatBytes);
    if (!Number.isFinite(number)) throw providerFailed("a vector with a number that is not finite");
    floats[index] = number;
  }
  return floats;
}

/** Converts a vector from base64 of signed bytes to an array of numbers; any other vector stays unchanged. */
export function bytesAsNumbers(json: VectorJson): VectorJson {
  const value: unknown = JSON.parse(json);
  return typeof value === "string" ? `[${new Int8Array(Buffer.from(value, "base64")).join()}]` : json;
}

function toBase64(vector: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(vector.length * floatBytes);
  for (let index = 0; index < vector.length; index++) bytes.writeFloatLE(vector[index] as number, index * floatBytes);
  return bytes.toString("base64");
}

/**
 * Where the value of a member stands, in the object that begins at `start`. @returns undefined when the object lacks it
 * @throws Fault if there is no object, and for a duplicate name, because parsers disagree about which of the two counts
 */
export function findMember(source: Buffer, start: number, name: string): ByteSpan | undefined {
  if (source[start] !== openBrace) throw providerFailed("not an object");
  const [found, another] = membersOf(source, start).filter(({ key }) => key === name);
  if (another) throw providerFailed(`two members ${name}`);
  return found;
}

/** Where the entries of a list stand. @throws Fault for anything else */
export function listEntries(source: Buffer, list: ByteSpan | undefined): readonly ByteSpan[] {
  if (!list || source[list.start] !== openBracket) throw providerFailed("no list of vectors");
  return elementsOf(source, list.start);
}

export const textAt = (source: Buffer, { start, end }: ByteSpan): VectorJson => source.toString("utf8", start, end);

/** Copies a vector, a member of the object that begins at `start`. @throws Fault when the object lacks it */
export function vectorAt(source: Buffer, start: number, name: string): VectorJson {
  const found = findMember(source, start, name);
  if (!found) throw providerFailed("an entry without a vector");
  return textAt(source, found);
}
