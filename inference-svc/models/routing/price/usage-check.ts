/**
 * Rejects implausible figures of a provider: more input than the request can have, more output than was allowed and
 * received, parts that exceed their whole. Such figures are not charged; estimates replace them, as for a provider
 * without counts.
 *
 * The bounds leave room for what honest providers add: instructions of their own, results of their tools, media whose
 * tokens only they know, servers that write past the maximum.
 */
import { maxDocumentPages } from "../../estimate/media.ts";
import { type InputSize, estimateInputTokens } from "../../estimate/tokens.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { ServerToolUse, Usage } from "../../../turn/usage.ts";
import type { Endpoint } from "../catalog.ts";

export type DoubtfulFigure =
  | "input_tokens"
  | "cached_tokens"
  | "output_tokens"
  | "reasoning_tokens"
  | "pages"
  | "server_tool_use";

/** The contents of an answer so far. */
export interface AnswerContents {
  /** Bytes of text and reasoning. */
  readonly bytes: number;
  readonly images: number;
  /** Number of web searches by the provider. */
  readonly searches: number;
}

/**
 * Maximum tokens of instructions and searches a provider adds. None of 1,017 recorded answers exceeds it; without tools
 * and media, the largest number of input tokens beyond the bytes of the request is below 5,000.
 */
const ownInputTokens = 16_384;
/** Maximum tokens a format adds to each item. */
const tokensPerItem = 36;
/** Maximum tokens of a picture in an answer: gpt-image counts 6,240, Gemini 2,520. */
const tokensPerImage = 8_192;
/**
 * Tokens by which an answer may exceed its maximum: servers may stop a few tokens late, or at the end of a word. None
 * of 1,017 recorded answers exceeds its maximum.
 */
const lateTokens = 256;
const lateShare = 0.1;
/** Assumed steps of a provider's own tools when the request sets no maximum; each step reads the whole input again. */
const toolSteps = 10;
/** Assumed calls of a provider's own tools in one answer when the request sets no maximum. */
const maxToolCalls = 100;

/** The bounds for one call, computed before its request is released. */
export class UsageCheck {
  readonly #endpoint: Endpoint;
  /** Maximum output tokens of the answer, without pictures. */
  readonly #output: number;
  readonly #runsTools: boolean;
  readonly #steps: number;
  readonly #calls: number;
  readonly #pages: number;
  /** Figures rejected; undefined as long as all were plausible. */
  #found: Set<DoubtfulFigure> | undefined;

  constructor(endpoint: Endpoint, request: TurnRequest) {
    const { maxOutputTokens: maxTokens, reasoning, predictionJson, tools, maxToolCalls: steps, pages } = request;
    this.#endpoint = endpoint;
    this.#runsTools = tools.some((tool) => tool.type === "hosted" && !tool.leftOut && !tool.asFunction);
    this.#steps = this.#runsTools ? (steps ?? toolSteps) + 1 : 0;
    this.#calls = steps ?? maxToolCalls;
    this.#pages = pages ?? maxDocumentPages;
    const allowed = (maxTokens ?? endpoint.maxOutputTokens ?? endpoint.contextLength) + (reasoning?.maxTokens ?? 0);
    const late = Math.max(lateTokens, allowed * lateShare) + Buffer.byteLength(predictionJson ?? "");
    this.#output = request.embedding ? 0 : (allowed + late) * (this.#runsTools ? 4 : 1);
  }

  /**
   * The usage without implausible figures: a rejected figure is 0, and estimated if possible.
   * @returns the same object when everything is plausible
   */
  checked(usage: Usage, size: () => InputSize, shown: AnswerContents): Usage {
    let { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens, pages, serverToolUse } = usage;
    if (inputTokens > ownInputTokens && inputTokens > this.#mostInput(size())) {
      this.#doubt("input_tokens");
      inputTokens = cachedTokens = cacheWriteTokens = 0;
    } else if (cachedTokens + cacheWriteTokens > inputTokens) {
      this.#doubt("cached_tokens");
      cachedTokens = Math.min(cachedTokens, inputTokens);
      cacheWriteTokens = Math.min(cacheWriteTokens, inputTokens - cachedTokens);
    }
    if (outputTokens > Math.max(this.#output + shown.images * tokensPerImage, shown.bytes)) {
      this.#doubt("output_tokens");
      outputTokens = reasoningTokens = 0;
    } else if (reasoningTokens > outputTokens) {
      // In recorded answers, reasoning tokens exceed output tokens by one.
      if (reasoningTokens > outputTokens + lateTokens) this.#doubt("reasoning_tokens");
      reasoningTokens = outputTokens;
    }
    if (pages !== undefined && pages > this.#pages) {
      this.#doubt("pages");
      pages = this.#pages;
    }
    if (serverToolUse && mostCalls(serverToolUse) > Math.max(this.#calls, shown.searches)) {
      this.#doubt("server_tool_use");
      serverToolUse = { webSearchRequests: shown.searches };
    }
    if (this.#found === undefined)
      return reasoningTokens === usage.reasoningTokens ? usage : { ...usage, reasoningTokens };
    const figures = {
      inputTokens,
      cachedTokens,
      cacheWriteTokens,
      outputTokens,
      reasoningTokens,
      pages,
      serverToolUse,
    };
    return { ...usage, ...figures, estimated: true, doubted: this.#found };
  }

  #doubt(figure: DoubtfulFigure): void {
    (this.#found ??= new Set()).add(figure);
  }

  #mostInput(size: InputSize): number {
    const { contextLength, model } = this.#endpoint;
    const { textBytes, sealedTokens, items, mediaTokens, media } = size;
    // No vocabulary has tokens shorter than a byte. Ordinary text stays far below this bound: beyond the context
    // window, twice its estimate is the bound.
    const text = textBytes + sealedTokens + items * tokensPerItem;
    const bound = Math.min(text, Math.max(contextLength, 2 * estimateInputTokens(size, model)));
    const hasMedia = media.images + media.audios + media.others > 0;
    return bound + ownInputTokens + 2 * mediaTokens + (hasMedia ? contextLength : 0) + this.#steps * contextLength;
  }
}

const mostCalls = ({ webSearchRequests = 0, toolCallsRequested = 0, toolCallsExecuted = 0 }: ServerToolUse): number =>
  Math.max(webSearchRequests, toolCallsRequested, toolCallsExecuted);
