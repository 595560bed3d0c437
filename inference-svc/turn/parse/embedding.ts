/** Converts an embeddings request to the form of all other requests, so the same layers route, guard, record and bill it. */
import type { EmbedRequest } from "@sluice/proto/gen/sluice/inference/v1/embed_pb.js";
import { embeddingInput } from "@sluice/proto/contract/request/embeddings.js";
import { scanValue } from "@sluice/proto/lib/json/scan.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { bareRequest } from "../bare-request.ts";
import type { EmbeddingSettings, InputItem, TurnRequest } from "../request.ts";
import type { SlugLookup } from "./turn-request.ts";

interface EmbeddingOptions {
  readonly scanned: boolean;
  readonly names: SlugLookup;
}

/**
 * @param scanned whether the input was scanned when the body was read
 * @throws Fault INVALID_REQUEST with every problem and its path
 */
export function parseEmbedding(request: EmbedRequest, { scanned, names }: EmbeddingOptions): TurnRequest {
  const problems = new Problems();
  const { model, inputJson, provider, encodingFormat, dimensions, inputType, serviceMetadata } = request;
  if (inputJson.length === 0) problems.add("input", "required");
  problems.throwIfAny();
  if (!scanned) scanValue(inputJson, "input");
  const input: unknown = JSON.parse(
    Buffer.from(inputJson.buffer, inputJson.byteOffset, inputJson.byteLength).toString(),
  );
  embeddingInput.check(input, "input", problems);
  problems.throwIfAny();
  const tokens = readTokens(input);
  const embedding: EmbeddingSettings = {
    encodingFormat: encodingFormat === "base64" ? "base64" : "float",
    ...(dimensions !== undefined && { dimensions }),
    ...(inputType !== "" && { inputType }),
    ...(tokens && { tokens }),
  };
  return bareRequest({
    models: [names.resolve(model) ?? model],
    input: tokens ? [] : ([input].flat() as readonly string[]).map(toItem),
    serviceMetadata,
    embedding,
    ...(provider && { provider }),
  });
}

/** The input as lists of token ids. @returns undefined for texts */
function readTokens(input: unknown): EmbeddingSettings["tokens"] {
  if (!Array.isArray(input)) return undefined;
  const [first] = input as readonly unknown[];
  if (typeof first === "number") return [input as number[]];
  return Array.isArray(first) ? (input as number[][]) : undefined;
}

/** The item for a text: a user message, which guardrails scan and redact. */
const toItem = (text: string): InputItem => ({ type: "message", role: "user", content: text });
