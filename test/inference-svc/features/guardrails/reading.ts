/** Answers in the Responses format, written and read for tests. */
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import type { TurnEvent } from "@sluice/inference-svc/turn/turn.js";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { ResponsesTranslator } from "@sluice/inference-svc/models/upstream/responses/stream.js";
import { EventScanner } from "@sluice/inference-svc/models/upstream/transport/sse.js";
import { testRequest, itemsOf } from "../../asking.js";

const target: Target = { upstreamModel: "large-2", tier: "default", original: false };

export interface Reading {
  readonly events: TurnEvent[];
  readonly items: Record<string, unknown>[];
}

export function readGuarded(
  events: readonly unknown[],
  request: Partial<TurnRequest> = {},
  at: Partial<Target> = {},
): Reading {
  const given: TurnEvent[] = [];
  const translator = new ResponsesTranslator(testRequest(request), { ...target, ...at }, (event) => given.push(event));
  for (const event of events) translator.event(undefined, JSON.stringify(event));
  translator.close();
  return { events: given, items: itemsOf(given) };
}

/** Reads the answer from the bytes of a stream. */
export function readBytes(pieces: readonly Uint8Array[], request: Partial<TurnRequest> = {}): TurnEvent[] {
  const given: TurnEvent[] = [];
  const translator = new ResponsesTranslator(testRequest(request), target, (event) => given.push(event));
  const scanner = new EventScanner((name, data) => translator.event(name, data));
  for (const piece of pieces) scanner.feed(piece);
  scanner.flush();
  translator.close();
  return given;
}

export const itemAddedEvent = (output_index: number, item: object) => ({
  type: "response.output_item.added",
  output_index,
  item,
});
export const itemDoneEvent = (output_index: number, item: object) => ({
  type: "response.output_item.done",
  output_index,
  item,
});
export const textDelta = (output_index: number, delta: string, content_index = 0) => ({
  type: "response.output_text.delta",
  output_index,
  content_index,
  delta,
});
export const completedEvent = (output: readonly unknown[], more: object = {}) => ({
  type: "response.completed",
  response: { status: "completed", output, usage: null, ...more },
});
export const messageItem = (id: string, ...texts: string[]) => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: texts.map((text) => ({ type: "output_text", text, annotations: [], logprobs: [] })),
});
export const openedMessage = (id: string) => ({
  type: "message",
  id,
  role: "assistant",
  status: "in_progress",
  content: [],
});
