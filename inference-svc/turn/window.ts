/** The maximum share of a context window for an input, and whether a longer input is compressed. */
import type { TurnRequest } from "./request.ts";

/** The context window of an endpoint. */
export interface ContextWindow {
  /** Tokens of input and output together. */
  readonly contextLength: number;
  /** The model's largest answer; absent when the operator states none. */
  readonly maxOutputTokens?: number;
}

/** Windows up to this size compress by default: a long conversation with so small a model would otherwise be refused. */
const smallWindow = 8_192;

/** Tokens kept for an answer without a length limit: as many as a budget reserves, but at most a quarter of the window. */
const unlimitedTokens = 4_096;
/** Share of the window kept free for the error of the token estimate. */
const marginShare = 0.02;
const minTarget = 256;

/** Whether the request asks for compression, whatever the window is. */
export function requestsCompression({ plugins, truncation }: TurnRequest): boolean {
  const plugin = plugins?.contextCompression;
  return plugin ? plugin.enabled !== false : truncation === "auto";
}

/** Whether an input too long for this window is compressed. */
export function isCompressed(request: TurnRequest, { contextLength }: ContextWindow): boolean {
  const { plugins, truncation, outputModalities } = request;
  // An image request keeps all of its input: every word of it describes the image.
  if (outputModalities.length > 0 && outputModalities.every((modality) => modality === "image")) return false;
  if (plugins?.contextCompression || truncation !== undefined) return requestsCompression(request);
  return contextLength <= smallWindow;
}

export function reservedAnswerTokens({ maxOutputTokens: requestedTokens }: TurnRequest, window: ContextWindow): number {
  const { contextLength, maxOutputTokens: largest } = window;
  // A larger limit is lowered for the endpoint.
  if (requestedTokens !== undefined && requestedTokens <= (largest ?? contextLength)) return requestedTokens;
  // Some providers refuse an input without room for the largest answer, and some operators declare the whole window as the largest answer.
  if (largest !== undefined) return Math.min(largest, Math.floor(contextLength / 2));
  return Math.min(unlimitedTokens, Math.floor(contextLength / 4));
}

/** Maximum number of input tokens. */
export const inputTarget = (request: TurnRequest, window: ContextWindow): number =>
  Math.max(minTarget, Math.floor(window.contextLength * (1 - marginShare)) - reservedAnswerTokens(request, window));
