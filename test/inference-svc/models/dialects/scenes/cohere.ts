/** Answers in the form of Cohere (https://docs.cohere.com/docs/streaming, https://docs.cohere.com/docs/tool-use-streaming). */
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import {
  cohereBlockEnd,
  cohereBlockStart,
  cohereCallDelta,
  cohereCallEnd,
  cohereCitation,
  cohereDelta,
  cohereStart,
  cohereTarget,
  cohereThoughtBlock,
} from "../cohere-translation.ts";
import { type WireFormat, citedPlaces, sseReads } from "./format.ts";
import { type Counts, type Piece, type Scene, sumOf } from "./scene.ts";

const words = { end: "COMPLETE", calls: "TOOL_CALL", limit: "MAX_TOKENS", filter: "COMPLETE" };

const citationsOf = (piece: Piece, content_index: number) =>
  citedPlaces(piece).map(({ url, title, start, end, text }) => ({
    start,
    end,
    text,
    content_index,
    type: "TEXT_CONTENT",
    sources: [{ type: "document", id: "doc:0", document: { id: "doc:0", title, url } }],
  }));

const callOf = ({ id, name }: Piece, args: string) => ({
  ...(id !== undefined && { id }),
  type: "function",
  function: { name, arguments: args },
});

function eventsOf(piece: Piece, index: number): readonly object[] {
  if (piece.kind === "thought") return cohereThoughtBlock(index, ...piece.said);
  if (piece.kind === "text") {
    return [
      cohereBlockStart(index, { type: "text", text: "" }),
      ...piece.said.map((text) => cohereDelta(index, { text })),
      ...citationsOf(piece, index).flatMap((citation) => cohereCitation(0, citation)),
      cohereBlockEnd(index),
    ];
  }
  return [
    { type: "tool-call-start", index, delta: { message: { tool_calls: callOf(piece, "") } } },
    ...piece.said.map((args) => cohereCallDelta(index, args)),
    cohereCallEnd(index),
  ];
}

/** The model also reads a prompt of Cohere, which is not billed and may be cached. */
const ownPrompt = 30;
const usageOf = ({ input, cached, output }: Counts) => ({
  billed_units: { input_tokens: input, output_tokens: output },
  tokens: { input_tokens: input + ownPrompt, output_tokens: output + 2 },
  cached_tokens: cached + ownPrompt,
});
const figuresOf = ({ counts }: Scene) => (counts ? { usage: usageOf(counts) } : {});

export const cohereAnswers: WireFormat = {
  name: "cohere",
  dialect: cohere,
  target: cohereTarget,
  kinds: ["text", "thought", "call"],
  thoughts: { format: "unknown" },
  counts: ["input", "cached", "output"],
  cites: true,
  cutsCalls: true,
  keepsOrder: "calls last",
  tail: 0,
  stops: {
    COMPLETE: "end",
    STOP_SEQUENCE: "end",
    TOOL_CALL: "end",
    OF_TOMORROW: "end",
    MAX_TOKENS: "limit",
    max_tokens: "limit",
    ERROR: FaultReason.PROVIDER_FAILED,
    TIMEOUT: FaultReason.PROVIDER_TIMEOUT,
  },
  stream: (scene, word = words[scene.stop ?? "end"]) =>
    sseReads(cohereStart, ...scene.pieces.flatMap(eventsOf), {
      type: "message-end",
      delta: { finish_reason: word, ...figuresOf(scene) },
    }),
  whole: (scene, word = words[scene.stop ?? "end"]) => {
    const blocks = scene.pieces.filter(({ kind }) => kind !== "call");
    const content = blocks.map((piece) =>
      piece.kind === "text" ? { type: "text", text: sumOf(piece) } : { type: "thinking", thinking: sumOf(piece) },
    );
    const tool_calls = scene.pieces.filter(({ kind }) => kind === "call").map((piece) => callOf(piece, sumOf(piece)));
    const message = { role: "assistant", content, tool_calls, citations: blocks.flatMap(citationsOf) };
    return JSON.stringify({ id: "c14c80c3", finish_reason: word, message, ...figuresOf(scene) });
  },
  noise: [
    Buffer.from(": keep-alive\n\n"),
    ...sseReads(
      { type: "debug", prompt: "p" },
      { type: "later", message: "m" },
      { type: "content-delta", delta: { message: { content: 7 } } },
      { type: "content-delta", delta: [] },
      cohereDelta(90, { text: 7, thinking: {} }),
      { type: "tool-plan-delta", delta: { message: { tool_plan: [] } } },
      { type: "citation-start" },
      cohereCallEnd(90),
    ),
  ],
  failures: (
    [
      [{ type: "message-end", delta: { finish_reason: "ERROR", error: "it broke" } }, FaultReason.PROVIDER_FAILED],
      [{ message: "internal server error", id: "x" }, FaultReason.PROVIDER_FAILED],
      [{ error: { message: "m" } }, FaultReason.PROVIDER_FAILED],
      [{ type: "error" }, FaultReason.PROVIDER_FAILED],
      [{ type: "message-end" }, FaultReason.PROVIDER_FAILED],
    ] as const
  ).map(([event, reason]) => [sseReads(event)[0] as Uint8Array, reason] as const),
};
