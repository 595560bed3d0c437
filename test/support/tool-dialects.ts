/** The same function call, and the same words, in the answers of each dialect. */
import {
  converseAnswer,
  callBlock,
  converseStart,
  converseTextBlock,
  endEvents,
} from "../inference-svc/models/dialects/converse-translation.ts";
import { type Reply, chatStream } from "./providers/upstream.ts";
import { textReply, callReply, callReplyStream } from "./tool-replies.ts";

export interface ToolDialect {
  /** Settings of a provider, except its address. */
  readonly provider: object;
  readonly path: string;
  readonly call: (name: string, args: object, stream: boolean) => Reply;
  readonly say: (text: string, stream: boolean) => Reply;
}

const whole = (json: object): Reply => ({ chunks: [{ json }] });
const events = (...sse: readonly object[]): Reply => ({ chunks: [{ sse }] });
const frames = (...bytes: readonly Uint8Array[]): Reply => ({
  headers: { "content-type": "application/vnd.amazon.eventstream" },
  chunks: bytes.map((each) => ({ bytes: each })),
});

/** An answer in Anthropic's Messages format with one block. */
function messages(block: { readonly type: string }, delta: object, stopReason: string, stream: boolean): Reply {
  const usage = { input_tokens: 5, output_tokens: 3 };
  const head = { id: "msg_1", type: "message", role: "assistant", model: "m" };
  if (!stream) return whole({ ...head, content: [block], stop_reason: stopReason, usage });
  const empty = block.type === "text" ? { ...block, text: "" } : { ...block, input: {} };
  return events(
    { type: "message_start", message: { ...head, content: [], stop_reason: null, usage } },
    { type: "content_block_start", index: 0, content_block: empty },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: stopReason }, usage },
    { type: "message_stop" },
  );
}

function gemini(part: object, stream: boolean): Reply {
  const candidates = [{ content: { role: "model", parts: [part] }, finishReason: "STOP" }];
  const json = { candidates, usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 } };
  return stream ? events(json) : whole(json);
}

export const toolDialects: Readonly<Record<"chat" | "messages" | "gemini" | "converse", ToolDialect>> = {
  chat: {
    provider: { dialect: "chat" },
    path: "/v1",
    call: (name, args, stream) => (stream ? callReplyStream("", { name, args }) : callReply({ name, args })),
    say: (text, stream) => (stream ? chatStream(text) : textReply(text)),
  },
  messages: {
    provider: { dialect: "messages" },
    path: "/v1",
    call: (name, input, stream) =>
      messages(
        { type: "tool_use", id: "toolu_1", name, input } as { type: string },
        { type: "input_json_delta", partial_json: JSON.stringify(input) },
        "tool_use",
        stream,
      ),
    say: (text, stream) =>
      messages({ type: "text", text } as { type: string }, { type: "text_delta", text }, "end_turn", stream),
  },
  gemini: {
    provider: { dialect: "gemini" },
    path: "/v1beta",
    call: (name, args, stream) => gemini({ functionCall: { name, args } }, stream),
    say: (text, stream) => gemini({ text }, stream),
  },
  converse: {
    provider: {
      dialect: "converse",
      aws: { region: "eu-central-1", access_key_id: "AKIDEXAMPLE", secret_access_key: "wJalrXUtnFEMI" },
    },
    path: "",
    call: (name, input, stream) =>
      stream
        ? frames(converseStart(), ...callBlock(0, name, JSON.stringify(input)), ...endEvents("tool_use"))
        : whole(converseAnswer([{ toolUse: { toolUseId: "tooluse_1", name, input } }], { stopReason: "tool_use" })),
    say: (text, stream) =>
      stream
        ? frames(converseStart(), ...converseTextBlock(0, text), ...endEvents("end_turn"))
        : whole(converseAnswer([{ text }])),
  },
};
