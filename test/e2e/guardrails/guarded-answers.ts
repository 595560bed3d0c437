/** Answers that contain forbidden text, from providers of every format, by the channel that carries the text. */
import * as cohere from "../../inference-svc/models/dialects/cohere-translation.ts";
import * as converse from "../../inference-svc/models/dialects/converse-translation.ts";
import { type Json, itemKinds, streamOf } from "../../inference-svc/models/dialects/item-stories.ts";
import * as messages from "../../inference-svc/models/dialects/messages-translation.ts";
import { type Reply, chatAnswer, chatChunk, responsesAnswer, sse } from "../../support/providers/upstream.ts";

/** A word that occurs only in these answers. */
export const forbiddenWord = "plutonium";
const cut = ["It is plu", "toni", "um now"];
const said = cut.join("");

/** The part of the forbidden words that a text shows. Ids are removed first: they may contain any three letters by chance. */
export const findForbiddenPart = (text: string): string | undefined =>
  /plu|toni/.exec(text.replaceAll(/\b[a-z]+[_-][0-9A-Za-z]{22}\b/g, ""))?.[0];

const json = JSON.stringify({ a: said });
const escaped = String.raw`{"a":"It is pl\u0075tonium now"}`;
const cutJson = [escaped.slice(0, 14), escaped.slice(14, 19), escaped.slice(19)];

export interface ProviderAnswer {
  readonly dialect: string;
  readonly channel: string;
  readonly streamed: Reply;
  readonly whole: Reply;
}

const events = (...data: readonly unknown[]): Reply => ({ chunks: [{ sse: data }] });
const body = (value: unknown): Reply => ({ chunks: [{ json: value }] });

const call = (pieces: readonly string[]) => [
  { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "" } },
  ...pieces.map((piece) => ({ index: 0, function: { arguments: piece } })),
];

const chat = (channel: string, deltas: readonly object[], message: object): ProviderAnswer => ({
  dialect: "chat",
  channel,
  streamed: events(...deltas.map((delta) => chatChunk(delta)), chatChunk({}, "stop"), "[DONE]"),
  whole: chatAnswer({ role: "assistant", content: null, ...message }),
});

const anthropic = (channel: string, start: object, deltas: readonly object[], block: object): ProviderAnswer => ({
  dialect: "messages",
  channel,
  streamed: events(
    messages.messagesStart(),
    ...messages.messagesBlock(0, start, ...deltas),
    ...messages.messagesStop("end_turn"),
  ),
  whole: body(messages.wholeMessage([block])),
});

const gemini = (channel: string, parts: readonly object[], ...whole: readonly object[]): ProviderAnswer => {
  const chunk = (list: readonly object[], more: object = {}) => ({
    candidates: [{ content: { role: "model", parts: list }, index: 0, ...more }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  });
  const end = { finishReason: "STOP" };
  const bytes = sse(...parts.map((part) => chunk([part])), chunk([], end));
  return {
    dialect: "gemini",
    channel,
    streamed: { headers: { "content-type": "text/event-stream" }, chunks: [{ bytes }] },
    whole: body(chunk(whole, end)),
  };
};

const bedrock = (channel: string, frames: readonly Uint8Array[], content: object): ProviderAnswer => ({
  dialect: "converse",
  channel,
  streamed: {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: [{ bytes: Buffer.concat([converse.converseStart(), ...frames, ...converse.endEvents("end_turn")]) }],
  },
  whole: body(converse.converseAnswer([content])),
});

const command = (channel: string, streamed: readonly object[], message: object): ProviderAnswer => ({
  dialect: "cohere",
  channel,
  streamed: events(cohere.cohereStart, ...streamed, cohere.cohereEnd()),
  whole: body(cohere.wholeCohere(message)),
});

/** Replaces every text of an item by forbidden text, except ids and words of the contract. */
function spoiled(value: unknown, name = ""): unknown {
  if (typeof value === "string") return kept.has(name) || value.startsWith("http") ? value : said;
  if (Array.isArray(value)) return value.map((element) => spoiled(element, name));
  if (typeof value !== "object" || value === null) return value;
  const pairs = Object.entries(value).map(([field, inner]) => [
    field,
    field === "arguments" && typeof inner === "string" ? json : spoiled(inner, field),
  ]);
  return Object.fromEntries(pairs) as unknown;
}

const kept: ReadonlySet<string> = new Set(
  (
    "type id call_id item_id file_id container_id role status phase format " +
    "encrypted_content signature result partial_image_b64 datetime timezone execution"
  ).split(" "),
);

/** Types of items whose fields contain no free text. */
const wordless: ReadonlySet<string> = new Set(["compaction", "service:datetime", "image_generation_call"]);

/** Every kind of item of a Responses server, with forbidden texts in all of its fields and events. */
const responses = itemKinds
  .filter(({ type }) => !wordless.has(type))
  .map(({ type, story }): ProviderAnswer => {
    const texts = { ...(spoiled(story.item) as Json), later_field: said };
    const item = { type, id: "item_0", ...texts };
    // The deltas are left out, because the end of an item repeats their text.
    const kind = { type, story: { item: texts, ...(story.start && { start: story.start }) } };
    return { dialect: "responses", channel: type, streamed: events(...streamOf([kind])), whole: responsesAnswer(item) };
  });

/** An answer whose forbidden text is cut over several deltas. */
const responsesDeltas = (channel: string, start: object, stem: string, more: object, item: object): ProviderAnswer => {
  const stream = streamOf([
    {
      type: channel,
      story: {
        start: start as never,
        item: item as never,
        events: cut.map((delta) => [`${stem}.delta`, { ...more, delta }] as const),
      },
    },
  ]);
  return {
    dialect: "responses",
    channel: `${channel} ${stem}`,
    streamed: events(...stream),
    whole: responsesAnswer({ type: channel, id: "item_0", ...item }),
  };
};

const part = { content_index: 0 };
const message = { role: "assistant", status: "completed" };

export const answersWithForbiddenWord: readonly ProviderAnswer[] = [
  chat(
    "text",
    cut.map((content) => ({ content })),
    { content: said },
  ),
  chat(
    "refusal",
    cut.map((refusal) => ({ refusal })),
    { refusal: said },
  ),
  chat("reasoning", [...cut.map((reasoning_content) => ({ reasoning_content })), { content: "a" }], {
    reasoning_content: said,
    content: "a",
  }),
  chat(
    "arguments",
    call(cutJson).map((each) => ({ tool_calls: [each] })),
    { tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: escaped } }] },
  ),
  anthropic(
    "text",
    { type: "text", text: "" },
    cut.map((text) => ({ type: "text_delta", text })),
    { type: "text", text: said },
  ),
  anthropic(
    "reasoning",
    { type: "thinking", thinking: "", signature: "" },
    cut.map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "thinking", thinking: said, signature: "s" },
  ),
  anthropic(
    "arguments",
    { type: "tool_use", id: "t1", name: "f", input: {} },
    cutJson.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    { type: "tool_use", id: "t1", name: "f", input: { a: said } },
  ),
  gemini(
    "text",
    cut.map((text) => ({ text })),
    { text: said },
  ),
  gemini(
    "reasoning",
    [...cut.map((text) => ({ text, thought: true })), { text: "a" }],
    { text: said, thought: true },
    { text: "a" },
  ),
  gemini("arguments", [{ functionCall: { name: "f", args: { a: said } } }], {
    functionCall: { name: "f", args: { a: said } },
  }),
  bedrock("text", converse.converseTextBlock(0, ...cut), { text: said }),
  bedrock(
    "reasoning",
    [...converse.thoughtBlock(0, ...cut.map((text) => ({ text }))), ...converse.converseTextBlock(1, "a")],
    {
      reasoningContent: { reasoningText: { text: said } },
    },
  ),
  bedrock("arguments", converse.callBlock(0, "f", ...cutJson), {
    toolUse: { toolUseId: "t1", name: "f", input: { a: said } },
  }),
  command("text", cohere.cohereTextBlock(0, ...cut), { content: [{ type: "text", text: said }] }),
  command("plan", cohere.coherePlan(...cut), { tool_plan: said }),
  command("reasoning", [...cohere.cohereThoughtBlock(0, ...cut), ...cohere.cohereTextBlock(1, "a")], {
    content: [{ type: "thinking", thinking: said }],
  }),
  command("arguments", cohere.cohereCall(0, "f", ...cutJson), {
    tool_calls: [cohere.wholeCohereCall(0, "f", escaped)],
  }),
  responsesDeltas("message", { ...message, status: "in_progress", content: [] }, "output_text", part, {
    ...message,
    content: [{ type: "output_text", text: said, annotations: [] }],
  }),
  responsesDeltas("message", { ...message, status: "in_progress", content: [] }, "refusal", part, {
    ...message,
    content: [{ type: "refusal", refusal: said }],
  }),
  responsesDeltas("reasoning", { summary: [] }, "reasoning_text", part, {
    summary: [],
    content: [{ type: "reasoning_text", text: said }],
  }),
  responsesDeltas(
    "reasoning",
    { summary: [] },
    "reasoning_summary_text",
    { summary_index: 0 },
    { summary: [{ type: "summary_text", text: said }] },
  ),
  responsesDeltas(
    "custom_tool_call",
    { call_id: "c", name: "sql", input: "" },
    "custom_tool_call_input",
    {},
    { call_id: "c", name: "sql", input: said },
  ),
  responsesDeltas(
    "apply_patch_call",
    { call_id: "c", status: "in_progress", operation: { type: "update_file", path: "a", diff: "" } },
    "apply_patch_call_operation_diff",
    {},
    { call_id: "c", status: "completed", operation: { type: "update_file", path: "a", diff: said } },
  ),
  responsesDeltas(
    "code_interpreter_call",
    { status: "in_progress", code: "", container_id: "c", outputs: null },
    "code_interpreter_call_code",
    {},
    { status: "completed", code: said, container_id: "c", outputs: null },
  ),
  responsesDeltas(
    "service:fusion",
    { status: "in_progress" },
    "fusion_call.panel",
    { model: "a" },
    { status: "completed", responses: [{ model: "a", content: said }], failed_models: [] },
  ),
  ...responses,
];
