/**
 * Estimates numbers of tokens from bytes, where no provider has counted them.
 *
 * Bytes of UTF-8 are divided instead of characters, because most scripts with more bytes per character also take more
 * tokens. Compared with the vocabulary o200k_base, the estimates for English, German, Chinese, Japanese and code are
 * right to about a fifth, those for JSON are a fifth too low, and those for Russian half too high.
 */
import type { EmbeddingSettings, InputItem, TurnRequest } from "../../turn/request.ts";
import { memoOf } from "../../turn/parse/shared-items.ts";
import { type Media, maxDocumentPages, readMedium } from "./media.ts";

/** Average bytes per token of most vocabularies: "1 token ~= 4 chars in English" (https://help.openai.com/en/articles/4936856). */
const bytesPerToken = 4;

/** Average bytes per token by the author of a model, the first part of its slug, for vocabularies known to be smaller. */
const bytesPerTokenOf: Readonly<Record<string, number>> = {
  // Anthropic states: "approximately represents 3.5 English characters"
  // (https://platform.claude.com/docs/en/about-claude/glossary).
  anthropic: 3.5,
};

/** Tokens a format adds to each message, for its role and its borders. */
const tokensPerItem = 4;

/** @param model slug of the model */
export const estimateTokens = (bytes: number, model: string): number =>
  Math.ceil(bytes / (bytesPerTokenOf[model.slice(0, Math.max(0, model.indexOf("/")))] ?? bytesPerToken));

/** Size of the input of a request. */
export interface InputSize {
  /** Bytes of text, text files included. */
  readonly textBytes: number;
  readonly items: number;
  /** Maximum tokens of sealed reasoning, whose text only its provider can read. */
  readonly sealedTokens: number;
  readonly media: Readonly<Media>;
  /** Tokens of pictures, sounds and documents, as most models count them, and tokens the client has counted. */
  readonly mediaTokens: number;
}

/** @param model slug of the model */
export function estimateInputTokens({ textBytes, items, mediaTokens }: InputSize, model: string): number {
  return estimateTokens(textBytes, model) + items * tokensPerItem + mediaTokens;
}

const pagesPerMedium = { images: 1, audios: 0, others: maxDocumentPages };

/**
 * Characters per token of encrypted reasoning. It is base64, and its text has at least three bytes per token, because
 * it is a model's own output.
 */
const sealedCharactersPerToken = 4;

export const isSealed = (field: string): boolean => field === "encrypted_content" || field === "signature";

/** Maximum tokens of an encrypted text. */
export const boundSealedTokens = (text: string): number => text.length / sealedCharactersPerToken;

/** Item fields a model does not read as text. */
const notText: ReadonlySet<string> = new Set(["type", "id", "call_id", "status", "encrypted_content", "signature"]);

export function measureInput(request: TurnRequest): InputSize {
  if (request.embedding) return measureEmbedded(request.input, request.embedding);
  const size = countItems(request.input);
  size.textBytes += measureSettings(request);
  size.media.pages = request.pages ?? size.media.pages;
  return size;
}

/** Size of an embeddings request: texts to embed are read without a message around them, and token ids are already counted. */
function measureEmbedded(input: readonly InputItem[], { tokens = [] }: EmbeddingSettings): InputSize {
  return {
    textBytes: input.reduce((sum, { content }) => sum + Buffer.byteLength(String(content)), 0),
    items: 0,
    sealedTokens: 0,
    media: { images: 0, audios: 0, others: 0, pages: 0 },
    mediaTokens: tokens.reduce((sum, each) => sum + each.length, 0),
  };
}

/** Bytes of the instructions, tools and schema, which a model reads in addition to the input. */
export function measureSettings(request: TurnRequest): number {
  let bytes = Buffer.byteLength(request.instructions ?? "");
  for (const tool of request.tools) bytes += Buffer.byteLength(tool.json);
  if (request.textFormat?.type === "json_schema") bytes += Buffer.byteLength(request.textFormat.schemaJson);
  return bytes;
}

export const measureItems = (items: readonly InputItem[]): InputSize => countItems(items);

function countItems(items: readonly InputItem[]): CountedSize {
  const media: Media = { images: 0, audios: 0, others: 0, pages: 0 };
  const size = { textBytes: 0, items: items.length, sealedTokens: 0, media, mediaTokens: 0 };
  for (let index = 0; index < items.length; index++) addItem(items[index]!, size);
  return size;
}

function addItem(item: InputItem, size: CountedSize): void {
  const memo = memoOf(item);
  if (memo?.textBytes !== undefined) return void (size.textBytes += memo.textBytes);
  const { textBytes, sealedTokens, media } = size;
  const before = countMedia(media);
  addValue(item, size);
  if (memo && countMedia(media) === before && size.sealedTokens === sealedTokens)
    memo.textBytes = size.textBytes - textBytes;
}

const countMedia = ({ images, audios, others }: Media): number => images + audios + others;

interface CountedSize extends InputSize {
  textBytes: number;
  sealedTokens: number;
  mediaTokens: number;
  readonly media: Media;
}

function addValue(whole: unknown, size: CountedSize): void {
  // A loop instead of recursion, because clients choose how deep they nest.
  const open: unknown[] = [whole];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") size.textBytes += Buffer.byteLength(value);
    else if (Array.isArray(value)) for (const element of value) open.push(element);
    else if (typeof value === "object" && value !== null) {
      const medium = readMedium(value as Readonly<Record<string, unknown>>);
      if (medium !== undefined) {
        size.media[medium.count]++;
        size.media.pages += pagesPerMedium[medium.count];
        size.textBytes += medium.textBytes;
        size.mediaTokens += medium.typicalTokens;
      } else
        for (const field in value) {
          const member = (value as Record<string, unknown>)[field];
          if (!notText.has(field)) open.push(member);
          else if (typeof member === "string" && isSealed(field)) size.sealedTokens += boundSealedTokens(member);
        }
    }
  }
}
