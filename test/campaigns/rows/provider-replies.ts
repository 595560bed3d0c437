/** Scripted answers of providers in each format, whole and streamed. */
import { eventFrame } from "../../support/answers/event-stream.ts";
import { type Chunk, chatChunk, sse } from "../../support/providers/upstream.ts";
import type { ModelAnswer, RowDialect } from "./row.ts";

type ReplyOf = (words: ModelAnswer) => unknown;
type StreamOf = (words: ModelAnswer) => Chunk;

const textOf = ({ text, calls, image, items }: ModelAnswer): string =>
  text ?? (calls === undefined && image === undefined && items === undefined ? "Hello" : "");
const callsOf = ({ calls = [] }: ModelAnswer) => calls.map((call, index) => ({ ...call, id: `call_${index}` }));

// Answers in the chat completions format

const chatMessage = (words: ModelAnswer) => ({
  role: "assistant",
  content: textOf(words) || null,
  ...(words.thought !== undefined && { reasoning_content: words.thought }),
  ...(words.calls && {
    tool_calls: callsOf(words).map(({ id, name, args }, index) => ({
      index,
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(args) },
    })),
  }),
  ...(words.image !== undefined && {
    images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${words.image}` } }],
  }),
});
const chatEnd = ({ calls, cut }: ModelAnswer) => (cut ? "length" : calls ? "tool_calls" : "stop");
const chatUsage = { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 };

const chat: ReplyOf = (words) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  choices: [{ index: 0, message: chatMessage(words), finish_reason: chatEnd(words) }],
  usage: chatUsage,
});
const chatStream: StreamOf = (words) => ({
  sse: [chatChunk(chatMessage(words)), chatChunk({}, chatEnd(words)), { choices: [], usage: chatUsage }, "[DONE]"],
});

// Answers in the Responses format

function responseItems(words: ModelAnswer): Record<string, unknown>[] {
  const text = textOf(words);
  const part = { type: "output_text", text, annotations: [] };
  const thought = {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: words.thought }],
    encrypted_content: "sealed",
  };
  return [
    ...(words.thought === undefined ? [] : [thought]),
    ...((words.items ?? []) as Record<string, unknown>[]),
    ...(text === ""
      ? []
      : [
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: words.cut ? "incomplete" : "completed",
            content: [part],
          },
        ]),
    ...callsOf(words).map(({ id, name, args }) => ({
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      status: "completed",
      name,
      arguments: JSON.stringify(args),
    })),
  ];
}
const responseOf = (words: ModelAnswer, output: readonly object[]) => ({
  id: "resp_1",
  object: "response",
  status: words.cut ? "incomplete" : "completed",
  ...(words.cut && { incomplete_details: { reason: "max_output_tokens" } }),
  model: "m",
  output,
  usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15 },
});
const responses: ReplyOf = (words) => responseOf(words, responseItems(words));
const responsesStream: StreamOf = (words) => {
  const output = responseItems(words);
  const begun = { ...responseOf(words, []), status: "in_progress" };
  return {
    sse: [
      { type: "response.created", response: begun },
      ...output.flatMap((item, index) => itemEvents(item, index)),
      { type: words.cut ? "response.incomplete" : "response.completed", response: responseOf(words, output) },
    ],
  };
};
function itemEvents(item: Record<string, unknown>, index: number): object[] {
  const place = { item_id: item["id"], output_index: index };
  const inner: object[] = [];
  if (item["type"] === "message") {
    const [part] = item["content"] as { readonly text: string }[];
    const at = { ...place, content_index: 0 };
    inner.push({ type: "response.content_part.added", ...at, part: { ...part, text: "" } });
    inner.push({ type: "response.output_text.delta", ...at, delta: part?.text });
  } else if (item["type"] === "function_call") {
    inner.push({ type: "response.function_call_arguments.delta", ...place, delta: item["arguments"] });
  } else if (item["type"] === "reasoning") {
    const [part] = item["summary"] as { readonly text: string }[];
    const at = { ...place, summary_index: 0 };
    inner.push({ type: "response.reasoning_summary_part.added", ...at, part: { ...part, text: "" } });
    inner.push({ type: "response.reasoning_summary_text.delta", ...at, delta: part?.text });
  }
  const empty = { content: [], summary: [], arguments: "" };
  const blank = Object.fromEntries(Object.entries(empty).filter(([name]) => name in item));
  return [
    { type: "response.output_item.added", output_index: index, item: { ...item, ...blank, status: "in_progress" } },
    ...inner,
    { type: "response.output_item.done", output_index: index, item },
  ];
}

// Answers in the Messages format

const messageBlocks = (words: ModelAnswer): Record<string, unknown>[] => [
  ...(words.thought === undefined ? [] : [{ type: "thinking", thinking: words.thought, signature: "signed" }]),
  ...(textOf(words) === "" ? [] : [{ type: "text", text: textOf(words) }]),
  ...callsOf(words).map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args })),
];
const messageEnd = ({ calls, cut }: ModelAnswer) => (cut ? "max_tokens" : calls ? "tool_use" : "end_turn");
const messageUsage = { input_tokens: 12, output_tokens: 3 };
const messages: ReplyOf = (words) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: messageBlocks(words),
  stop_reason: messageEnd(words),
  usage: messageUsage,
});
const messagesStream: StreamOf = (words) => ({
  sse: [
    { type: "message_start", message: { ...(messages(words) as object), content: [], stop_reason: null } },
    ...messageBlocks(words).flatMap((block, index) => [
      { type: "content_block_start", index, content_block: blankBlock(block) },
      ...blockDeltas(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: messageEnd(words) }, usage: messageUsage },
    { type: "message_stop" },
  ],
});
function blankBlock(block: Record<string, unknown>): object {
  if (block["type"] === "tool_use") return { ...block, input: {} };
  return block["type"] === "text" ? { ...block, text: "" } : { ...block, thinking: "", signature: "" };
}
function blockDeltas(block: Record<string, unknown>): object[] {
  const { type, text, thinking, signature, input } = block;
  if (type === "text") return [{ type: "text_delta", text }];
  if (type === "tool_use") return [{ type: "input_json_delta", partial_json: JSON.stringify(input) }];
  return [
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ];
}

// Answers in the Gemini format

const geminiParts = (words: ModelAnswer): object[] => [
  ...(words.thought === undefined ? [] : [{ text: words.thought, thought: true }]),
  ...(textOf(words) === "" ? [] : [{ text: textOf(words) }]),
  ...callsOf(words).map(({ name, args }) => ({ functionCall: { name, args }, thoughtSignature: "c2lnbmVk" })),
  ...(words.image === undefined ? [] : [{ inlineData: { mimeType: "image/png", data: words.image } }]),
];
const gemini: ReplyOf = (words) => ({
  candidates: [
    {
      index: 0,
      content: { role: "model", parts: geminiParts(words) },
      finishReason: words.cut ? "MAX_TOKENS" : "STOP",
    },
  ],
  usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, totalTokenCount: 15 },
});
const geminiStream: StreamOf = (words) => ({ sse: [gemini(words)] });

// Answers in the Converse format

const converseBlocks = (words: ModelAnswer): Record<string, object>[] => [
  ...(words.thought === undefined
    ? []
    : [{ reasoningContent: { reasoningText: { text: words.thought, signature: "signed" } } }]),
  ...(textOf(words) === "" ? [] : [{ text: textOf(words) as unknown as object }]),
  ...callsOf(words).map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args as object } })),
];
const converseUsage = { inputTokens: 12, outputTokens: 3, totalTokens: 15 };
const converse: ReplyOf = (words) => ({
  output: { message: { role: "assistant", content: converseBlocks(words) } },
  stopReason: messageEnd(words),
  usage: converseUsage,
  metrics: { latencyMs: 1 },
});
const converseStream: StreamOf = (words) => ({
  bytes: Buffer.concat([
    eventFrame("messageStart", { role: "assistant" }),
    ...converseBlocks(words).flatMap((block, index) => converseFrames(block, index)),
    eventFrame("messageStop", { stopReason: messageEnd(words) }),
    eventFrame("metadata", { usage: converseUsage, metrics: { latencyMs: 1 } }),
  ]),
});
function converseFrames(block: Record<string, object>, contentBlockIndex: number): Buffer[] {
  const delta = (said: object) => eventFrame("contentBlockDelta", { contentBlockIndex, delta: said });
  const stop = eventFrame("contentBlockStop", { contentBlockIndex });
  const { toolUse, reasoningContent } = block as Record<string, Record<string, unknown>>;
  if (toolUse) {
    const { toolUseId, name, input } = toolUse;
    const start = eventFrame("contentBlockStart", { contentBlockIndex, start: { toolUse: { toolUseId, name } } });
    return [start, delta({ toolUse: { input: JSON.stringify(input) } }), stop];
  }
  if (reasoningContent) {
    const { text, signature } = reasoningContent["reasoningText"] as Record<string, unknown>;
    return [delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }), stop];
  }
  return [delta(block), stop];
}

const whole: Readonly<Record<RowDialect, ReplyOf>> = { chat, responses, messages, gemini, converse };
const streamed: Readonly<Record<RowDialect, StreamOf>> = {
  chat: chatStream,
  responses: responsesStream,
  messages: messagesStream,
  gemini: geminiStream,
  converse: converseStream,
};

export interface ProviderReply {
  readonly status?: number;
  readonly type: string;
  readonly body: string | Uint8Array;
}

export function replyIn(dialect: RowDialect, words: ModelAnswer, stream: boolean): ProviderReply {
  if (words.fails) {
    const { status, code, message } = words.fails;
    return {
      status,
      type: "application/json",
      body: JSON.stringify({ message, error: { message, code, type: code } }),
    };
  }
  if (!stream) return { type: "application/json", body: JSON.stringify(whole[dialect](words)) };
  const { bytes, sse: events = [] } = streamed[dialect](words);
  if (bytes !== undefined) return { type: "application/vnd.amazon.eventstream", body: bytes };
  return { type: "text/event-stream", body: sse(...events) };
}
