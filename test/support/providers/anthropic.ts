/** Answers of a provider in Anthropic's Messages format. */
import type { Reply } from "./upstream.ts";

/** A content block as its stream begins, and its deltas. */
export type StreamedBlock = readonly [start: object, ...deltas: object[]];

const usage = { input_tokens: 11, output_tokens: 7 };

/** @param end members of the last delta besides its stop reason */
export function claudeStream(blocks: readonly StreamedBlock[], stop = "end_turn", end: object = {}): Reply {
  const message = { id: "msg_1", type: "message", role: "assistant", content: [], usage };
  const events = blocks.flatMap(([start, ...deltas], index) => [
    { type: "content_block_start", index, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ]);
  const delta = { stop_reason: stop, stop_sequence: null, ...end };
  const last = { type: "message_delta", delta, usage };
  return { chunks: [{ sse: [{ type: "message_start", message }, ...events, last, { type: "message_stop" }] }] };
}

/** @param end members of the message besides its content and stop reason */
export const claudeMessage = (content: readonly object[], stop = "end_turn", end: object = {}): Reply => ({
  chunks: [
    {
      json: { id: "msg_1", type: "message", role: "assistant", model: "m", content, stop_reason: stop, usage, ...end },
    },
  ],
});
