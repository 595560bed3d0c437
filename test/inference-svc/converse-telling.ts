/** What a Converse endpoint is told of a turn and what it is not told, and what is read out of its answers. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import { eventStream } from "@sluice/inference-svc/upstream/converse/event-stream.js";
import { converseRefusal } from "@sluice/inference-svc/upstream/converse/refusal.js";
import { converseBody } from "@sluice/inference-svc/upstream/converse/request.js";
import { ConverseTranslator } from "@sluice/inference-svc/upstream/converse/stream.js";
import type { Refusal, Target } from "@sluice/inference-svc/upstream/dialect.js";
import { eventFrame } from "../support/event-stream.js";
import { asking, itemsOf } from "./asking.js";

const at = (upstreamModel: string, more: Partial<Target> = {}): Target => ({
  upstreamModel,
  tier: "default",
  original: false,
  ...more,
});
export const claude = at("eu.anthropic.claude-sonnet-4-6");
/** From before 4.6: it takes a budget, not an effort. */
export const budgeted = at("anthropic.claude-sonnet-4-5-20250929-v1:0", {
  supportedParameters: ["reasoning", "reasoning.max_tokens", "tool_choice"],
});
export const nova = at("us.amazon.nova-2-lite-v1:0");
export const gptOss = at("openai.gpt-oss-120b-1:0");
export const mistral = at("mistral.mistral-large-2407-v1:0");
export const llama = at("us.meta.llama4-maverick-17b-instruct-v1:0");

export interface Told {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for what would have been refused: nobody is told that. */
export function told(request: Partial<TurnRequest>, target = claude): Told {
  const whole = asking(request);
  const refusal = converseRefusal(whole, target);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = converseBody(whole, target, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const bodyOf = (request: Partial<TurnRequest>, target = claude) => told(request, target).body;

export const lossesOf = (request: Partial<TurnRequest>, target = claude) =>
  told(request, target).losses.map(([path]) => path);

export const refused = (request: Partial<TurnRequest>, target = claude): Refusal | undefined =>
  converseRefusal(asking(request), target);

export interface Read {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

/** @param reads bytes as they come */
export function readBytes(reads: readonly Uint8Array[], request: Partial<TurnRequest> = {}, target = claude): Read {
  const given: TurnEvent[] = [];
  const translator = new ConverseTranslator(asking(request), target, (event) => given.push(event));
  const answer = eventStream.open(translator);
  for (const bytes of reads) answer.feed(bytes);
  answer.end();
  return readOf(given);
}

/** @param frames of one stream */
export const read = (frames: readonly Uint8Array[], request: Partial<TurnRequest> = {}, target = claude): Read =>
  readBytes([Buffer.concat(frames)], request, target);

/** @param answer a whole one; JSON where its spelling matters */
export function readWhole(answer: object | string, request: Partial<TurnRequest> = {}, target = claude): Read {
  const given: TurnEvent[] = [];
  const translator = new ConverseTranslator(asking(request), target, (event) => given.push(event));
  translator.event(undefined, typeof answer === "string" ? answer : JSON.stringify(answer));
  return readOf(given);
}

function readOf(events: TurnEvent[]): Read {
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events, items: itemsOf(events), outcome: end.outcome };
}

/** The events of a stream (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html). */
export const begun = () => eventFrame("messageStart", { role: "assistant" });
export const blockStart = (contentBlockIndex: number, start: object) =>
  eventFrame("contentBlockStart", { contentBlockIndex, start });
export const delta = (contentBlockIndex: number, said: object) =>
  eventFrame("contentBlockDelta", { contentBlockIndex, delta: said });
export const blockStop = (contentBlockIndex: number) => eventFrame("contentBlockStop", { contentBlockIndex });
export const stopped = (stopReason: string) => eventFrame("messageStop", { stopReason });
export const figures = { inputTokens: 30, outputTokens: 5, totalTokens: 35 };
export const metadata = (usage: object = figures, more: object = {}) =>
  eventFrame("metadata", { usage, metrics: { latencyMs: 100 }, ...more });
export const ended = (stopReason: string, usage?: object) => [stopped(stopReason), metadata(usage)];

/** Texts and thoughts begin without a word about it. */
export const textBlock = (index: number, ...texts: string[]) => [
  ...texts.map((text) => delta(index, { text })),
  blockStop(index),
];
export const thoughtBlock = (index: number, ...said: object[]) => [
  ...said.map((reasoningContent) => delta(index, { reasoningContent })),
  blockStop(index),
];
export const callBlock = (index: number, name: string, ...inputs: string[]) => [
  blockStart(index, { toolUse: { toolUseId: `tooluse_${name}`, name } }),
  ...inputs.map((input) => delta(index, { toolUse: { input } })),
  blockStop(index),
];

/** A whole answer (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). */
export const answer = (content: readonly object[], more: object = {}) => ({
  output: { message: { role: "assistant", content } },
  stopReason: "end_turn",
  usage: figures,
  metrics: { latencyMs: 100 },
  ...more,
});
