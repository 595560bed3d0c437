/** The outgoing Messages request of a turn with its dropped fields, and the events read from answers. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { Outcome, TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import type { Refusal, Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { refuseMessages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { messagesBody } from "@sluice/inference-svc/models/upstream/messages/request.js";
import { MessagesTranslator } from "@sluice/inference-svc/models/upstream/messages/stream.js";
import { testRequest, itemsOf } from "../../asking.js";

export const messagesTarget: Target = { upstreamModel: "m", tier: "default", original: false };
/** A model from before 4.6: it takes a budget, not an effort. */
export const messagesWithThinkingBudget: Target = {
  ...messagesTarget,
  supportedParameters: ["reasoning", "reasoning.max_tokens", "tool_choice"],
};

/** A model with system messages amid the conversation. */
export const messagesWithPrompts: Target = {
  ...messagesTarget,
  supportedParameters: ["reasoning", "message.system", "tools", "tool_choice"],
};

export interface TranslatedMessagesRequest {
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Path and reason. */
  readonly losses: [string, string][];
}

/** Fails for a refusable request: it is never translated. */
export function translateToMessages(request: Partial<TurnRequest>, at = messagesTarget): TranslatedMessagesRequest {
  const whole = testRequest(request);
  const refusal = refuseMessages(whole, at);
  if (refusal) throw new Error(`refused: ${refusal.path}: ${refusal.message}`);
  const losses: [string, string][] = [];
  const text = messagesBody(whole, at, (path, reason) => void losses.push([path, reason]));
  return { text, body: JSON.parse(text) as Record<string, unknown>, losses };
}

export const buildMessagesBody = (request: Partial<TurnRequest>, at = messagesTarget) =>
  translateToMessages(request, at).body;

export const findMessagesDropped = (request: Partial<TurnRequest>, at = messagesTarget) =>
  translateToMessages(request, at).losses.map(([path]) => path);

export const refuseMessagesRequest = (request: Partial<TurnRequest>, at = messagesTarget): Refusal | undefined =>
  refuseMessages(testRequest(request), at);

export interface MessagesAnswer {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
  readonly outcome: Outcome;
}

/** @param events or one whole message */
export function readMessages(events: readonly unknown[], request: Partial<TurnRequest> = {}): MessagesAnswer {
  const given: TurnEvent[] = [];
  const translator = new MessagesTranslator(testRequest(request), messagesTarget, (event) => given.push(event));
  for (const event of events) translator.event(undefined, typeof event === "string" ? event : JSON.stringify(event));
  if (!translator.done) translator.close();
  const end = given.at(-1);
  if (end?.type !== "end") throw new Error("no end");
  return { events: given, items: itemsOf(given), outcome: end.outcome };
}

/** The events of a stream, as https://platform.claude.com/docs/en/build-with-claude/streaming shows them. */
export const messagesStart = (usage: object = { input_tokens: 10, output_tokens: 1 }) => ({
  type: "message_start",
  message: { id: "msg_1", type: "message", role: "assistant", content: [], model: "m", stop_reason: null, usage },
});
export const messagesBlockStart = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
export const messagesDelta = (index: number, said: object) => ({ type: "content_block_delta", index, delta: said });
export const messagesBlockStop = (index: number) => ({ type: "content_block_stop", index });
export const messagesStop = (stop_reason: string, usage: object = { output_tokens: 15 }, more: object = {}) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null, ...more }, usage },
  { type: "message_stop" },
];
/** A block with its deltas. */
export const messagesBlock = (index: number, start: object, ...deltas: object[]) => [
  messagesBlockStart(index, start),
  ...deltas.map((said) => messagesDelta(index, said)),
  messagesBlockStop(index),
];
export const messagesTextBlock = (index: number, ...texts: string[]) =>
  messagesBlock(index, { type: "text", text: "" }, ...texts.map((text) => ({ type: "text_delta", text })));
/** A whole answer. */
export const wholeMessage = (content: readonly object[], more: object = {}) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content,
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 15 },
  ...more,
});
