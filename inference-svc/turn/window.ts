/** Computes the maximum input for a context window, and decides whether a longer input is compressed. */
import type { TurnRequest } from "./request.ts";

/** The context window of an endpoint. */
export interface ContextWindow {
  /** Context window in tokens, input and output together. */
  readonly contextLength: number;
  /** Maximum output tokens of the model; absent when the operator states none. */
  readonly maxOutputTokens?: number;
}

/**
 * Maximum tokens of a context window for which inputs are compressed by default: a long conversation with such a small
 * model would otherwise be refused.
 */
const smallWindow = 8_192;

/** Tokens kept free for an answer when the request sets no limit: as many as a budget reserves, but at most a quarter of the window. */
const unlimitedTokens = 4_096;
/** Share of the window kept free for errors of the token estimate. */
const marginShare = 0.02;
const minTarget = 256;

/** Whether the request asks for compression, whatever the window is. */
export function requestsCompression({ plugins, truncation }: TurnRequest): boolean {
  const plugin = plugins?.contextCompression;
  return plugin ? plugin.enabled !== false : truncation === "auto";
}

/** Whether an input that is too long for this window is compressed. */
export function isCompressed(request: TurnRequest, { contextLength }: ContextWindow): boolean {
  const { plugins, truncation, outputModalities } = request;
  // A request for an image keeps all of its input, because every word of it describes the image.
  if (outputModalities.length > 0 && outputModalities.every((modality) => modality === "image")) return false;
  if (plugins?.contextCompression || truncation !== undefined) return requestsCompression(request);
  return contextLength <= smallWindow;
}

export function reservedAnswerTokens({ maxOutputTokens: requestedTokens }: TurnRequest, window: ContextWindow): number {
  const { contextLength, maxOutputTokens: largest } = window;
  // A limit larger than this is lowered for the endpoint.
  if (requestedTokens !== undefined && requestedTokens <= (largest ?? contextLength)) return requestedTokens;
  // Some providers refuse an input that leaves no room for the longest answer, and some operators declare the whole
  // window as the longest answer.
  if (largest !== undefined) return Math.min(largest, Math.floor(contextLength / 2));
  return Math.min(unlimitedTokens, Math.floor(contextLength / 4));
}

/** Maximum number of input tokens for the window. */
export const inputTarget = (request: TurnRequest, window: ContextWindow): number =>
  Math.max(minTarget, Math.floor(window.contextLength * (1 - marginShare)) - reservedAnswerTokens(request, window));
