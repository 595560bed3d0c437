/** The outgoing Cohere request of a turn with its dropped fields, and the events read from answers. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { refuseCohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { cohereBody } from "@sluice/inference-svc/models/upstream/cohere/request.js";
import { CohereTranslator } from "@sluice/inference-svc/models/upstream/cohere/stream.js";
import type { Refusal, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { testRequest, itemsOf } from "../../asking.js";

export const cohereTarget: Target = { upstreamModel: "command-a-plus-05-2026", tier: "default", original: false };

export interface TranslatedCohereRequest {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for a refusable request: it is never translated. */
export function translateToCohere(request: Partial<TurnRequest>, at = cohereTarget): TranslatedCohereRequest {
  const whole = testRequest(request);
  const refusal = refuseCohere(whole);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = cohereBody(whole, at, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const buildCohereBody = (request: Partial<TurnRequest>, at = cohereTarget) =>
  translateToCohere(request, at).body;

export const findCohereDropped = (request: Partial<TurnRequest>, at = cohereTarget) =>
  translateToCohere(request, at).losses.map(([path]) => path);

export const refuseCohereRequest = (request: Partial<TurnRequest>): Refusal | undefined =>
  refuseCohere(testRequest(request));

export interface CohereAnswer {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

/** @param events or one whole answer */
export function readCohere(events: readonly unknown[], request: Partial<TurnRequest> = {}): CohereAnswer {
  const given: TurnEvent[] = [];
  const translator = new CohereTranslator(testRequest(request), cohereTarget, (event) => given.push(event));
  for (const event of events) translator.event(undefined, typeof event === "string" ? event : JSON.stringify(event));
  if (!translator.done) translator.close();
  const end = given.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events: given, items: itemsOf(given), outcome: end.outcome };
}

/** The events of a stream, as https://docs.cohere.com/docs/streaming and the pages of the features show them. */
export const cohereStart = {
  type: "message-start",
  id: "29f14a5a-11de-4cae-9800-25e4747408ea",
  delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } },
};
const contentEvent = (type: string, index: number, content: object) => ({
  type,
  index,
  delta: { message: { content } },
});
export const cohereBlockStart = (index: number, content: object) => contentEvent("content-start", index, content);
export const cohereDelta = (index: number, content: object) => contentEvent("content-delta", index, content);
export const cohereBlockEnd = (index: number) => ({ type: "content-end", index });
export const cohereTextBlock = (index: number, ...texts: readonly string[]) => [
  cohereBlockStart(index, { type: "text", text: "" }),
  ...texts.map((text) => cohereDelta(index, { text })),
  cohereBlockEnd(index),
];
export const cohereThoughtBlock = (index: number, ...thoughts: readonly string[]) => [
  cohereBlockStart(index, { type: "thinking", thinking: "" }),
  ...thoughts.map((thinking) => cohereDelta(index, { thinking })),
  cohereBlockEnd(index),
];
export const coherePlan = (...words: readonly string[]) =>
  words.map((tool_plan) => ({ type: "tool-plan-delta", delta: { message: { tool_plan } } }));
export const cohereCallStart = (index: number, name = "f", args = "") => ({
  type: "tool-call-start",
  index,
  delta: { message: { tool_calls: { id: `${name}_${index}`, type: "function", function: { name, arguments: args } } } },
});
export const cohereCallDelta = (index: number, args: string) => ({
  type: "tool-call-delta",
  index,
  delta: { message: { tool_calls: { function: { arguments: args } } } },
});
export const cohereCallEnd = (index: number) => ({ type: "tool-call-end", index });
export const cohereCall = (index: number, name: string, ...pieces: readonly string[]) => [
  cohereCallStart(index, name),
  ...pieces.map((piece) => cohereCallDelta(index, piece)),
  cohereCallEnd(index),
];
export const cohereCitation = (index: number, citations: object) => [
  { type: "citation-start", index, delta: { message: { citations } } },
  { type: "citation-end", index },
];
/** Billed tokens of Cohere, and its model's input and output tokens. */
export const cohereFigures = {
  billed_units: { input_tokens: 5, output_tokens: 26 },
  tokens: { input_tokens: 71, output_tokens: 28 },
};
export const cohereEnd = (finish_reason = "COMPLETE", more: object = {}) => ({
  type: "message-end",
  delta: { finish_reason, usage: cohereFigures, ...more },
});
/** A whole answer. */
export const wholeCohere = (message: object, more: object = {}) => ({
  id: "c14c80c3-18eb-4519-9460-6c92edd8cfb4",
  finish_reason: "COMPLETE",
  message: { role: "assistant", ...message },
  usage: cohereFigures,
  ...more,
});
export const wholeCohereCall = (index: number, name: string, args: string) => ({
  id: `${name}_${index}`,
  type: "function",
  function: { name, arguments: args },
});
