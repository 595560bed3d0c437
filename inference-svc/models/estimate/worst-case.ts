/**
 * Upper bound for the input tokens of a request, by any provider's count: budgets hold their cost before the request is
 * sent.
 *
 * Text counts as one token for each byte, because no vocabulary has tokens shorter than a byte; names and numbers are
 * text as well. Media count by the rules of their formats, and media without a rule count as the whole context window
 * of the model.
 */
import type { EmbeddingSettings, TurnRequest } from "../../turn/request.ts";
import { readMedium } from "./media.ts";
import { boundSealedTokens, estimateInputTokens, isSealed, measureInput } from "./tokens.ts";

/** A model that reads the input. */
export interface ReadingModel {
  /** Slug of the model. */
  readonly model: string;
  /** Context window in tokens. */
  readonly contextLength: number;
}

export interface WorstCase {
  readonly inputTokens: number;
  /** Whether the request asks for a cache kept for an hour; writing it has a separate price. */
  readonly writesHourCache: boolean;
}

/** Maximum tokens a format adds to each item and each tool, for the role, delimiters and field names. */
const tokensPerItem = 32;
/** Maximum tokens that vendors add to a request, most of them to explain how tools are called (Claude: 264 to 804 tokens). */
const vendorTokens = 64;
const vendorToolTokens = 1_024;

/**
 * Factor for the estimate of ordinary text, which stays far below one token per byte: when the estimate with this
 * factor fits into the context window, the window is the bound.
 */
const estimateFactor = 2;

export function boundInput(request: TurnRequest, { model, contextLength }: ReadingModel): WorstCase {
  if (request.embedding) return { inputTokens: boundEmbedded(request, request.embedding), writesHourCache: false };
  const counts = new Counts(model);
  counts.add(request.instructions);
  for (const { json } of request.tools) counts.add(json);
  if (request.textFormat?.type === "json_schema") counts.add(request.textFormat.schemaJson);
  for (const item of request.input) counts.add(item);
  const searches = request.tools.some(({ type }) => type === "hosted");
  const fixed = vendorTokens + (request.tools.length > 0 ? vendorToolTokens : 0);
  const items = (request.input.length + request.tools.length) * tokensPerItem;
  const bound = Math.max(contextLength, estimateFactor * estimateInputTokens(measureInput(request), model));
  const known = Math.min(counts.tokens + items + fixed, bound);
  return {
    // Results of the provider's web search are input, too, and their size is unknown.
    inputTokens: Math.ceil(counts.unbounded || searches ? known + contextLength : known),
    writesHourCache: counts.writesHourCache || request.cacheControl?.ttl === "1h",
  };
}

/** Maximum tokens a tokenizer adds at the beginning and the end of a text. */
const marksPerText = 8;

/** Upper bound for texts to embed. A token has at least one byte. */
function boundEmbedded({ input }: TurnRequest, { tokens = [] }: EmbeddingSettings): number {
  const texts = input.map(({ content }) => Buffer.byteLength(String(content)));
  const lists = tokens.map(({ length }) => length);
  return [...texts, ...lists].reduce((sum, most) => sum + most + marksPerText, 0);
}

class Counts {
  readonly #model: string;
  tokens = 0;
  /** Whether the input has a medium without a rule for its size. */
  unbounded = false;
  writesHourCache = false;

  constructor(model: string) {
    this.#model = model;
  }

  add(value: unknown): void {
    // A loop instead of recursion, because clients choose how deep they nest.
    const open: unknown[] = [value];
    while (open.length > 0) {
      const next = open.pop();
      if (typeof next === "string") this.tokens += Buffer.byteLength(next);
      else if (typeof next === "number" || typeof next === "boolean") this.tokens += String(next).length;
      else if (Array.isArray(next)) for (const element of next) open.push(element);
      else if (typeof next === "object" && next !== null) this.#addObject(next as Record<string, unknown>, open);
    }
  }

  #addObject(value: Readonly<Record<string, unknown>>, open: unknown[]): void {
    const medium = readMedium(value);
    if (medium) {
      const tokens = medium.maxTokens(this.#model);
      this.tokens += medium.textBytes + (tokens ?? 0);
      this.unbounded ||= tokens === undefined;
    }
    if (value["ttl"] === "1h") this.writesHourCache = true;
    for (const [name, inner] of Object.entries(value)) {
      if (medium && mediumFields.has(name)) continue;
      this.tokens += Buffer.byteLength(name);
      if (isSealed(name) && typeof inner === "string") this.tokens += boundSealedTokens(inner);
      else open.push(inner);
    }
  }
}

/** Fields with the data of media, which the rule of the medium has already counted. */
const mediumFields: ReadonlySet<string> = new Set([
  "image_url",
  "result",
  "input_audio",
  "video_url",
  "file_data",
  "file_url",
  "file_id",
]);
