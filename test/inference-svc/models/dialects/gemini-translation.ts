/** The outgoing Gemini request of a turn with its dropped fields, and the events read from answers. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import type { Refusal, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { refuseGemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { geminiBody } from "@sluice/inference-svc/models/upstream/gemini/request.js";
import { GeminiTranslator } from "@sluice/inference-svc/models/upstream/gemini/stream.js";
import { testRequest, itemsOf } from "../../asking.js";

export const geminiTarget: Target = { upstreamModel: "gemini-3.6-flash", tier: "default", original: false };
/** A model with a budget instead of a level. */
export const olderModel: Target = { ...geminiTarget, upstreamModel: "gemini-2.5-flash" };

export interface TranslatedGeminiRequest {
  readonly text: string;
  readonly body: Record<string, unknown>;
  readonly config: Record<string, unknown> | undefined;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for a refusable request: it is never translated. */
export function translateToGemini(request: Partial<TurnRequest>, at = geminiTarget): TranslatedGeminiRequest {
  const whole = testRequest(request);
  const refusal = refuseGemini(whole, at);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = geminiBody(whole, at, (path, reason) => void losses.push([path, reason]));
  const body = JSON.parse(text) as Record<string, unknown>;
  return { text, body, config: body.generationConfig as TranslatedGeminiRequest["config"], losses };
}

export const buildGeminiBody = (request: Partial<TurnRequest>, at = geminiTarget) =>
  translateToGemini(request, at).body;

export const buildConfig = (request: Partial<TurnRequest>, at = geminiTarget) => translateToGemini(request, at).config;

export const findGeminiDropped = (request: Partial<TurnRequest>, at = geminiTarget) =>
  translateToGemini(request, at).losses.map(([path]) => path);

export const refuseGeminiRequest = (request: Partial<TurnRequest>, at = geminiTarget): Refusal | undefined =>
  refuseGemini(testRequest(request), at);

export interface GeminiAnswer {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

/** @param chunks or one whole answer */
export function readGemini(chunks: readonly unknown[], request: Partial<TurnRequest> = {}): GeminiAnswer {
  const given: TurnEvent[] = [];
  const translator = new GeminiTranslator(testRequest(request), geminiTarget, (event) => given.push(event));
  for (const chunk of chunks) translator.event(undefined, typeof chunk === "string" ? chunk : JSON.stringify(chunk));
  translator.close();
  const end = given.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events: given, items: itemsOf(given), outcome: end.outcome };
}

/** A chunk of a stream, or a whole answer, as https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse shows them. */
export const geminiStreamChunk = (parts: readonly object[], candidate: object = {}, more: object = {}) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0, ...candidate }],
  usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
  modelVersion: "gemini-3.6-flash",
  responseId: "r1",
  ...more,
});

export const geminiTextPart = (words: string, more: object = {}) => ({ text: words, ...more });
export const geminiThoughtPart = (words: string, more: object = {}) => ({ text: words, thought: true, ...more });
export const geminiCallPart = (name: string, args: object = {}, more: object = {}) => ({
  functionCall: { name, args, id: `id_${name}` },
  ...more,
});

export const geminiFigures = {
  promptTokenCount: 8,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 7,
  totalTokenCount: 20,
};

/** The last chunk, with the reason and the figures. */
export const lastGeminiChunk = (parts: readonly object[] = [], finishReason = "STOP", more: object = {}) =>
  geminiStreamChunk(parts, { finishReason, ...more }, { usageMetadata: geminiFigures });
