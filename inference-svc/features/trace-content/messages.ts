/**
 * Messages in the form of OpenTelemetry's GenAI conventions (`gen_ai.input.messages` and `gen_ai.output.messages`, as of semantic conventions 1.38). Bytes of
 * pictures and files are left out; their addresses stay.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem } from "../../turn/request.ts";
import type { Outcome, OutputItem } from "../../turn/turn.ts";

export type TracedPart = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface TracedMessage {
  readonly role: string;
  readonly parts: readonly TracedPart[];
}

export const textPart = (content: string): TracedPart => ({ type: "text", content });

export function inputMessage(item: InputItem): TracedMessage {
  if (item.type === "message") return { role: String(item["role"]), parts: contentParts(item["content"]) };
  if (item.type.endsWith("_call_output")) return { role: "tool", parts: [toolResponse(item)] };
  return { role: "assistant", parts: answerParts(item) };
}

/** Parts of an item of an answer; a kind without a form in the conventions is named by its type only. */
export function answerParts(item: OutputItem | InputItem): readonly TracedPart[] {
  switch (item.type) {
    case "message":
      return contentParts(item["content"]);
    case "reasoning":
      return reasoningParts(item);
    case "function_call":
      return [toolCall(item, argumentsOf(item["arguments"]))];
    case "custom_tool_call":
      return [toolCall(item, item["input"])];
    default:
      return [{ type: item.type }];
  }
}

export function finishReason({ status, reason }: Outcome, parts: readonly TracedPart[]): string {
  if (status === "incomplete") return reason === "content_filter" ? "content_filter" : "length";
  return parts.some(({ type }) => type === "tool_call") ? "tool_call" : "stop";
}

const toolCall = (item: OutputItem | InputItem, given: unknown): TracedPart => ({
  type: "tool_call",
  id: item["call_id"],
  name: item["name"],
  arguments: given,
});

const toolResponse = (item: InputItem): TracedPart => {
  const { output } = item as { readonly output?: unknown };
  return {
    type: "tool_call_response",
    id: item["call_id"],
    response: Array.isArray(output) ? contentParts(output) : output,
  };
};

/** Arguments as an object where they are JSON. */
function argumentsOf(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const reasoningParts = (item: OutputItem | InputItem): readonly TracedPart[] =>
  ["summary", "content"]
    .flatMap((field) => (Array.isArray(item[field]) ? (item[field] as unknown[]) : []))
    .flatMap((part) => (isObject(part) && typeof part["text"] === "string" ? [part["text"]] : []))
    .map((content) => ({ type: "reasoning", content }));

function contentParts(content: unknown): readonly TracedPart[] {
  if (typeof content === "string") return [textPart(content)];
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) => (isObject(part) ? [contentPart(part)] : []));
}

const modalities: Readonly<Record<string, string>> = {
  input_image: "image",
  input_audio: "audio",
  input_video: "video",
  input_file: "document",
};

/** The fields with the address or the bytes of a picture or a file, by their order of use. */
const addressFields = ["image_url", "file_url", "video_url"] as const;

function contentPart(part: Readonly<Record<string, unknown>>): TracedPart {
  const text = part["text"] ?? part["refusal"];
  if (typeof text === "string") return textPart(text);
  const type = String(part["type"]);
  const modality = modalities[type];
  if (modality === undefined) return { type };
  if (typeof part["file_id"] === "string") return { type: "file", modality, file_id: part["file_id"] };
  const address = addressFields.map((field) => part[field]).find((value) => typeof value === "string");
  if (typeof address === "string" && !address.startsWith("data:")) return { type: "uri", modality, uri: address };
  return { type: "blob", modality, content: "" };
}

/** A list as JSON. */
export interface BoundedJson {
  readonly json: string;
  /** Whether something was left out. */
  readonly isCut: boolean;
}

/** JSON of the last messages that fit into so many bytes. Of a last message that does not fit alone, the beginnings of its texts are kept. */
export function boundedJson(messages: readonly TracedMessage[], maxBytes: number): BoundedJson {
  const kept: string[] = [];
  let bytes = "[]".length;
  for (const message of messages.toReversed()) {
    const json = JSON.stringify(message);
    const more = Buffer.byteLength(json) + 1;
    if (bytes + more > maxBytes) break;
    bytes += more;
    kept.unshift(json);
  }
  const last = messages.at(-1);
  if (kept.length === 0 && last) return { json: `[${shortened(last, maxBytes - bytes)}]`, isCut: true };
  return { json: `[${kept.join(",")}]`, isCut: kept.length < messages.length };
}

/** JSON of a message with its texts cut to a common length, halved until all fits. */
function shortened(message: TracedMessage, maxBytes: number): string {
  for (let length = maxBytes; length >= 1; length = Math.floor(length / 2)) {
    const json = JSON.stringify(message, (_, value: unknown) =>
      typeof value === "string" && value.length > length ? `${beginning(value, length)}…` : value,
    );
    if (Buffer.byteLength(json) <= maxBytes) return json;
  }
  return JSON.stringify({ role: message.role, parts: [] });
}

/** At most so many UTF-16 units, and no half of a surrogate pair at the end. */
const beginning = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, "");
