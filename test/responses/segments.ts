/** Answers of every dialect, written as texts, reasoning, refusals and calls in an order. */
import type { Dialect } from "@sluice/inference-svc/models/upstream/dialect.js";
import { chat } from "@sluice/inference-svc/models/upstream/chat/dialect.js";
import { cohere } from "@sluice/inference-svc/models/upstream/cohere/dialect.js";
import { converse } from "@sluice/inference-svc/models/upstream/converse/dialect.js";
import { gemini } from "@sluice/inference-svc/models/upstream/gemini/dialect.js";
import { messages } from "@sluice/inference-svc/models/upstream/messages/dialect.js";
import { responses } from "@sluice/inference-svc/models/upstream/responses/dialect.js";
import * as command from "../inference-svc/models/dialects/cohere-translation.ts";
import * as bedrock from "../inference-svc/models/dialects/converse-translation.ts";
import * as google from "../inference-svc/models/dialects/gemini-translation.ts";
import * as anthropic from "../inference-svc/models/dialects/messages-translation.ts";
import { itemAddedEvent, completed, itemDoneEvent } from "../inference-svc/features/guardrails/reading.ts";
import { chatChunk, sse } from "../support/providers/upstream.ts";

export type SegmentKind = "text" | "thought" | "summary" | "refusal" | "call";

export interface Segment {
  readonly kind: SegmentKind;
  /** A part of the item before it, if the dialect has parts. */
  readonly isPart: boolean;
  readonly said: string;
}

export interface Written {
  readonly dialect: Dialect;
  readonly name: string;
  readonly kinds: readonly SegmentKind[];
  /** Part type of reasoning in answers to clients. */
  readonly thoughts: "reasoning_text" | "summary_text";
  /** The reads of a stream, with about a character each. */
  readonly stream: (segments: readonly Segment[]) => readonly Uint8Array[];
  readonly whole: (segments: readonly Segment[]) => object;
}

const letters = (said: string): readonly string[] => Array.from(said);
const reads = (events: readonly unknown[]): readonly Uint8Array[] => events.map((event) => Buffer.from(sse(event)));
const call = { call_id: "c", name: "f", arguments: "{}" };

/** Responses parts: the list in the item, the type, and the event and fields of the deltas. */
const parts = {
  text: ["content", "output_text", "output_text", "text", "content_index"],
  refusal: ["content", "refusal", "refusal", "refusal", "content_index"],
  thought: ["content", "reasoning_text", "reasoning_text", "text", "content_index"],
  summary: ["summary", "summary_text", "reasoning_summary_text", "text", "summary_index"],
} as const;

type PartSegment = Segment & { readonly kind: keyof typeof parts };
const isPart = (segment: Segment): segment is PartSegment => segment.kind !== "call";
const isThought = ({ kind }: Segment) => kind === "thought" || kind === "summary";

function itemsOf(segments: readonly Segment[]): readonly (readonly Segment[])[] {
  const items: Segment[][] = [];
  for (const segment of segments) {
    if (segment.isPart && items.length > 0) items.at(-1)?.push(segment);
    else items.push([segment]);
  }
  return items;
}

function listOf(item: readonly Segment[], list: "content" | "summary"): object[] {
  const members = item.filter(isPart).filter(({ kind }) => parts[kind][0] === list);
  return members.map(({ kind, said }) => ({ type: parts[kind][1], [parts[kind][3]]: said, annotations: [] }));
}

function responsesItem(item: readonly Segment[], index: number): object {
  const [first] = item;
  if (first?.kind === "call") return { type: "function_call", id: `i_${index}`, status: "completed", ...call };
  const more =
    first && isThought(first) ? { type: "reasoning", summary: listOf(item, "summary") } : { type: "message" };
  return { ...more, id: `i_${index}`, role: "assistant", status: "completed", content: listOf(item, "content") };
}

function* responsesEvents(item: readonly Segment[], index: number): Iterable<object> {
  const whole = responsesItem(item, index);
  yield itemAddedEvent(index, { ...whole, content: [], summary: [], status: "in_progress", arguments: "" });
  const counts = { content: 0, summary: 0 };
  for (const { kind, said } of item.filter(isPart)) {
    const [list, , stem, , number] = parts[kind];
    const at = counts[list]++;
    for (const delta of letters(said)) {
      yield { type: `response.${stem}.delta`, output_index: index, item_id: `i_${index}`, [number]: at, delta };
    }
    yield {
      type: `response.${stem}.done`,
      output_index: index,
      item_id: `i_${index}`,
      [number]: at,
      [kind === "refusal" ? "refusal" : "text"]: said,
    };
  }
  yield itemDoneEvent(index, whole);
}

const joined = (segments: readonly Segment[], kind: SegmentKind): string | null =>
  segments.some((each) => each.kind === kind)
    ? segments.map((each) => (each.kind === kind ? each.said : "")).join("")
    : null;

const chatCall = { index: 0, id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const chatFields = { text: "content", thought: "reasoning_content", refusal: "refusal" } as const;

const anthropicBlock = ({ kind, said }: Segment) =>
  ({
    text: { type: "text", text: said },
    thought: { type: "thinking", thinking: said, signature: "s" },
    call: { type: "tool_use", id: "c", name: "f", input: {} },
  })[kind as "text"];
const anthropicDelta = (kind: SegmentKind, said: string) =>
  kind === "text" ? { type: "text_delta", text: said } : { type: "thinking_delta", thinking: said };

const googlePart = ({ kind, said }: Segment) =>
  ({ text: google.geminiTextPart(said), thought: google.geminiThoughtPart(said), call: google.geminiCallPart("f") })[
    kind as "text"
  ];

/** An answer of Gemini ending after reasoning has failed. */
const googleEnd = (segments: readonly Segment[]): object[] =>
  segments.every(({ kind }) => kind === "thought") ? [google.geminiTextPart(".")] : [];

const bedrockBlock = ({ kind, said }: Segment) =>
  ({
    text: { text: said },
    thought: { reasoningContent: { reasoningText: { text: said } } },
    call: { toolUse: { toolUseId: "c", name: "f", input: {} } },
  })[kind as "text"];

function bedrockFrames({ kind, said }: Segment, index: number): readonly Uint8Array[] {
  if (kind === "call") return bedrock.callBlock(index, "f", "{}");
  if (kind === "text") return bedrock.converseTextBlock(index, ...letters(said));
  return bedrock.thoughtBlock(index, ...letters(said).map((text) => ({ text })));
}

const commandBlock = ({ kind, said }: Segment) =>
  kind === "text" ? { type: "text", text: said } : { type: "thinking", thinking: said };

function commandEvents({ kind, said }: Segment, index: number): readonly object[] {
  if (kind === "call") return command.cohereCall(index, "f", "{}");
  const block = kind === "text" ? command.cohereTextBlock : command.cohereThoughtBlock;
  return block(index, ...letters(said));
}

export const dialects: readonly Written[] = [
  {
    name: "responses",
    thoughts: "reasoning_text",
    dialect: responses,
    kinds: ["text", "thought", "summary", "refusal", "call"],
    stream: (segments) => {
      const items = itemsOf(segments);
      return reads([
        ...items.flatMap((item, index) => [...responsesEvents(item, index)]),
        completed(items.map(responsesItem)),
      ]);
    },
    whole: (segments) => ({ status: "completed", output: itemsOf(segments).map(responsesItem) }),
  },
  {
    name: "chat",
    thoughts: "reasoning_text",
    dialect: chat,
    kinds: ["text", "thought", "refusal", "call"],
    stream: (segments) => [
      ...segments.flatMap(({ kind, said }) =>
        kind === "call"
          ? reads([chatChunk({ tool_calls: [chatCall] })])
          : reads(letters(said).map((letter) => chatChunk({ [chatFields[kind as "text"]]: letter }))),
      ),
      ...reads([chatChunk({}, "stop"), "[DONE]"]),
    ],
    whole: (segments) => ({
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: {
            role: "assistant",
            content: joined(segments, "text"),
            reasoning_content: joined(segments, "thought"),
            refusal: joined(segments, "refusal"),
            ...(segments.some(({ kind }) => kind === "call") && { tool_calls: [chatCall] }),
          },
        },
      ],
    }),
  },
  {
    name: "messages",
    thoughts: "reasoning_text",
    dialect: messages,
    kinds: ["text", "thought", "call"],
    stream: (segments) =>
      reads([
        anthropic.messagesStart(),
        ...segments.flatMap((segment, index) => {
          const { kind, said } = segment;
          const start = { ...anthropicBlock({ ...segment, said: "" }) };
          const deltas = kind === "call" ? [{ type: "input_json_delta", partial_json: "{}" }] : [];
          return anthropic.messagesBlock(
            index,
            start,
            ...deltas,
            ...letters(said).map((each) => anthropicDelta(kind, each)),
          );
        }),
        ...anthropic.messagesStop("end_turn"),
      ]),
    whole: (segments) => anthropic.wholeMessage(segments.map(anthropicBlock)),
  },
  {
    name: "gemini",
    thoughts: "summary_text",
    dialect: gemini,
    kinds: ["text", "thought", "call"],
    stream: (segments) =>
      reads([
        ...segments.flatMap((segment) =>
          segment.kind === "call"
            ? [google.geminiStreamChunk([googlePart(segment)])]
            : letters(segment.said).map((said) => google.geminiStreamChunk([googlePart({ ...segment, said })])),
        ),
        google.lastGeminiChunk(googleEnd(segments)),
      ]),
    whole: (segments) => google.lastGeminiChunk([...segments.map(googlePart), ...googleEnd(segments)]),
  },
  {
    name: "converse",
    thoughts: "reasoning_text",
    dialect: converse,
    kinds: ["text", "thought", "call"],
    stream: (segments) => [
      bedrock.converseStart(),
      ...segments.flatMap(bedrockFrames),
      ...bedrock.endEvents("end_turn"),
    ],
    whole: (segments) => bedrock.converseAnswer(segments.map(bedrockBlock)),
  },
  {
    name: "cohere",
    thoughts: "reasoning_text",
    dialect: cohere,
    kinds: ["text", "thought", "call"],
    stream: (segments) => reads([command.cohereStart, ...segments.flatMap(commandEvents), command.cohereEnd()]),
    whole: (segments) =>
      command.wholeCohere({
        content: segments.filter(({ kind }) => kind !== "call").map(commandBlock),
        tool_calls: segments.filter(({ kind }) => kind === "call").map(() => command.wholeCohereCall(0, "f", "{}")),
      }),
  },
];
