/** How much of a model's window an input may take, and who wants an input that takes more to be made to fit. */
import type { TurnRequest } from "./request.ts";

/** What of an endpoint matters here. */
export interface Window {
  /** Tokens of input and output together. */
  readonly contextLength: number;
  /** The model's largest answer, where the operator says. */
  readonly maxOutputTokens?: number;
}

/** Nobody who asks models of so small a window means to be refused for a long conversation. */
const smallWindow = 8_192;

/** Held for an answer whose length nobody has limited: as where a budget is reserved, but never more than a quarter of the window. */
const unlimitedTokens = 4_096;
/** What the estimate of the borders between items may miss. */
const marginShare = 0.02;
const leastTarget = 256;

/** Whether the request asks for it, whatever the window is. */
export function asksToFit({ plugins, truncation }: TurnRequest): boolean {
  const plugin = plugins?.contextCompression;
  return plugin ? plugin.enabled !== false : truncation === "auto";
}

/** Whether an input that is too long is to be made to fit. */
export function isMadeToFit(request: TurnRequest, { contextLength }: Window): boolean {
  const { plugins, truncation, outputModalities } = request;
  // Of what an image is made nothing is left out.
  if (outputModalities.length > 0 && outputModalities.every((modality) => modality === "image")) return false;
  if (plugins?.contextCompression || truncation !== undefined) return asksToFit(request);
  return contextLength <= smallWindow;
}

/** Tokens that are kept free for the answer. */
export function answerTokens({ maxOutputTokens: asked }: TurnRequest, window: Window): number {
  const { contextLength, maxOutputTokens: largest } = window;
  if (asked !== undefined) return asked;
  // Some providers refuse an input that leaves no room for the largest answer; some operators declare the whole window.
  if (largest !== undefined) return Math.min(largest, Math.floor(contextLength / 2));
  return Math.min(unlimitedTokens, Math.floor(contextLength / 4));
}

/** Tokens that the input may have. */
export const inputTarget = (request: TurnRequest, window: Window): number =>
  Math.max(leastTarget, Math.floor(window.contextLength * (1 - marginShare)) - answerTokens(request, window));
