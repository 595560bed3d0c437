/** The outgoing Converse request of a turn with its dropped fields, and the events read from answers. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { eventStream } from "@sluice/inference-svc/models/upstream/converse/event-stream.js";
import { refuseConverse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import { converseBody } from "@sluice/inference-svc/models/upstream/converse/request.js";
import { ConverseTranslator } from "@sluice/inference-svc/models/upstream/converse/stream.js";
import type { Refusal, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { eventFrame } from "../../../support/answers/event-stream.js";
import { testRequest, itemsOf } from "../../asking.js";

const at = (upstreamModel: string, more: Partial<Target> = {}): Target => ({
  upstreamModel,
  tier: "default",
  original: false,
  ...more,
});
export const claudeOnBedrock = at("eu.anthropic.claude-sonnet-4-6");
/** A model from before 4.6: it takes a budget, not an effort. */
export const converseWithBudget = at("anthropic.claude-sonnet-4-5-20250929-v1:0", {
  supportedParameters: ["reasoning", "reasoning.max_tokens", "tool_choice"],
});
export const novaOnBedrock = at("us.amazon.nova-2-lite-v1:0");
export const gptOss = at("openai.gpt-oss-120b-1:0");
export const mistralOnBedrock = at("mistral.mistral-large-2407-v1:0");
export const llamaOnBedrock = at("us.meta.llama4-maverick-17b-instruct-v1:0");

export interface TranslatedConverseRequest {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for a refusable request: it is never translated. */
export function translateToConverse(
  request: Partial<TurnRequest>,
  target = claudeOnBedrock,
): TranslatedConverseRequest {
  const whole = testRequest(request);
  const refusal = refuseConverse(whole, target);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = converseBody(whole, target, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const buildConverseBody = (request: Partial<TurnRequest>, target = claudeOnBedrock) =>
  translateToConverse(request, target).body;

export const findConverseDropped = (request: Partial<TurnRequest>, target = claudeOnBedrock) =>
  translateToConverse(request, target).losses.map(([path]) => path);

export const refuseConverseRequest = (request: Partial<TurnRequest>, target = claudeOnBedrock): Refusal | undefined =>
  refuseConverse(testRequest(request), target);

export interface ConverseAnswer {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

/** @param reads bytes as they come */
export function readConverseBytes(
  reads: readonly Uint8Array[],
  request: Partial<TurnRequest> = {},
  target = claudeOnBedrock,
): ConverseAnswer {
  const given: TurnEvent[] = [];
  const translator = new ConverseTranslator(testRequest(request), target, (event) => given.push(event));
  const answer = eventStream.open(translator);
  for (const bytes of reads) answer.feed(bytes);
  answer.end();
  return readOf(given);
}

/** @param frames of one stream */
export const readConverse = (
  frames: readonly Uint8Array[],
  request: Partial<TurnRequest> = {},
  target = claudeOnBedrock,
): ConverseAnswer => readConverseBytes([Buffer.concat(frames)], request, target);

/** @param answer a whole one; as JSON if its spelling matters */
export function readWholeConverse(
  answer: object | string,
  request: Partial<TurnRequest> = {},
  target = claudeOnBedrock,
): ConverseAnswer {
  const given: TurnEvent[] = [];
  const translator = new ConverseTranslator(testRequest(request), target, (event) => given.push(event));
  translator.event(undefined, typeof answer === "string" ? answer : JSON.stringify(answer));
  return readOf(given);
}

function readOf(events: TurnEvent[]): ConverseAnswer {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events, items: itemsOf(events), outcome: end.outcome };
}

/** The events of a stream (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html). */
export const converseStart = () => eventFrame("messageStart", { role: "assistant" });
export const converseBlockStart = (contentBlockIndex: number, start: object) =>
  eventFrame("contentBlockStart", { contentBlockIndex, start });
export const converseDelta = (contentBlockIndex: number, said: object) =>
  eventFrame("contentBlockDelta", { contentBlockIndex, delta: said });
export const converseBlockStop = (contentBlockIndex: number) => eventFrame("contentBlockStop", { contentBlockIndex });
export const converseStop = (stopReason: string) => eventFrame("messageStop", { stopReason });
export const converseUsage = { inputTokens: 30, outputTokens: 5, totalTokens: 35 };
export const converseMetadata = (usage: object = converseUsage, more: object = {}) =>
  eventFrame("metadata", { usage, metrics: { latencyMs: 100 }, ...more });
export const endEvents = (stopReason: string, usage?: object) => [converseStop(stopReason), converseMetadata(usage)];

/** Texts and reasoning begin without a start event. */
export const converseTextBlock = (index: number, ...texts: string[]) => [
  ...texts.map((text) => converseDelta(index, { text })),
  converseBlockStop(index),
];
export const thoughtBlock = (index: number, ...said: object[]) => [
  ...said.map((reasoningContent) => converseDelta(index, { reasoningContent })),
  converseBlockStop(index),
];
export const callBlock = (index: number, name: string, ...inputs: string[]) => [
  converseBlockStart(index, { toolUse: { toolUseId: `tooluse_${name}`, name } }),
  ...inputs.map((input) => converseDelta(index, { toolUse: { input } })),
  converseBlockStop(index),
];

/** A whole answer (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). */
export const converseAnswer = (content: readonly object[], more: object = {}) => ({
  output: { message: { role: "assistant", content } },
  stopReason: "end_turn",
  usage: converseUsage,
  metrics: { latencyMs: 100 },
  ...more,
});
