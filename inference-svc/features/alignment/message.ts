/** The evaluated part of an answer: only the message, without reasoning and without the conversation. */
import type { OutputItem } from "../../turn/turn.ts";

export interface EvaluatedCall {
  readonly name: string;
  /** Arguments of the call as the model wrote them: JSON, or any text. */
  readonly arguments: string;
  readonly namespace?: string;
}

export interface Message {
  readonly role: "assistant";
  /** Text of the message; null for a message without text. */
  readonly content: string | null;
  readonly tool_calls?: readonly EvaluatedCall[];
  readonly refusal?: string;
  /** A description of each generated image. */
  readonly images?: readonly string[];
  readonly audio?: { readonly transcript: string };
}

/** Maximum UTF-16 units evaluated; a longer message is cut, and has no verdict. */
const maxContent = 10_000;
const maxToolCalls = 16;
const maxToolCallsLength = 4_000;
const maxRefusal = 1_000;
const maxTranscript = 1_000;

interface Part {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly refusal?: unknown;
  readonly transcript?: unknown;
}

export function toMessage(items: readonly OutputItem[]): Message {
  const parts = items.flatMap(({ type, content }) =>
    type === "message" && Array.isArray(content) ? (content as readonly Part[]) : [],
  );
  const content = together(parts.map(({ text }) => text));
  const refusal = together(parts.map((part) => part.refusal));
  const transcript = together(parts.map((part) => part.transcript));
  const calls = items.filter(({ type }) => type.endsWith("_call") && type !== "image_generation_call").map(callOf);
  const images = items.filter(({ type }) => type === "image_generation_call").map(imageOf);
  return {
    role: "assistant",
    content: content ?? null,
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(refusal !== undefined && { refusal }),
    ...(images.length > 0 && { images }),
    ...(transcript !== undefined && { audio: { transcript } }),
  };
}

/** Joins all parts to one text, in order. @returns undefined when there is no text */
function together(texts: readonly unknown[]): string | undefined {
  const strings = texts.filter((text) => typeof text === "string");
  return strings.length === 0 ? undefined : strings.join("");
}

/** Fields of a call item that are not its content. */
const aboutItem: ReadonlySet<string> = new Set(["type", "id", "call_id", "status", "name", "namespace"]);

function callOf(item: OutputItem): EvaluatedCall {
  const { type, name, namespace } = item;
  const text = item["arguments"] ?? item["input"];
  return {
    name: typeof name === "string" ? name : type.slice(0, -"_call".length),
    arguments: typeof text === "string" ? text : JSON.stringify(restOf(item)),
    ...(typeof namespace === "string" && { namespace }),
  };
}

const restOf = (item: OutputItem): object =>
  Object.fromEntries(Object.entries(item).filter(([member]) => !aboutItem.has(member)));

/** Describes an image: judges get no images, only a note of each with the model's prompt for it. */
function imageOf(item: OutputItem): string {
  const prompt = item["revised_prompt"];
  return typeof prompt === "string" ? prompt : "";
}

/** Whether the message is longer than the part evaluated. */
export function isCut({ content, tool_calls: calls = [], refusal = "", images = [], audio }: Message): boolean {
  return (
    (content?.length ?? 0) > maxContent ||
    calls.length > maxToolCalls ||
    (calls.length > 0 && JSON.stringify(calls).length > maxToolCallsLength) ||
    refusal.length > maxRefusal ||
    images.join("").length + (audio?.transcript.length ?? 0) > maxTranscript
  );
}
