/**
 * Reasoning items as thinking blocks, and back.
 *
 * A signature of Claude travels as it is, so that a conversation can go on at Anthropic itself. Reasoning of other models is sealed into the
 * signature with everything that its item holds beside its text, so that its provider gets the same item again.
 */
import { createHash } from "node:crypto";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";

/** The `format` of reasoning that Claude signs. */
const claudeFormat = "anthropic-claude-v1";

/** Reasoning that only Claude can read, as inference-svc seals it into `encrypted_content`. */
const sealedByClaude = `sluice:${claudeFormat}:data:`;

/** Begins a signature that holds an item; the signatures of Claude are bare base64. */
const itemSeal = "sluice:item:";

const separator = "\n\n";

const noTexts: readonly string[] = [];

export type ThinkingBlock =
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | { readonly type: "redacted_thinking"; readonly data: string };

/** @returns undefined for an item without any reasoning */
export function toThinkingBlock(item: JsonObject): ThinkingBlock | undefined {
  const summary = textsOf(item["summary"]);
  const content = textsOf(item["content"]);
  // The order in which providers stream them.
  const thinking = joinThoughts([...summary, ...content]);
  const signature = signatureOf(item, content, summary, thinking);
  if (signature.startsWith(sealedByClaude)) {
    return { type: "redacted_thinking", data: signature.slice(sealedByClaude.length) };
  }
  if (thinking === "" && signature === "") return undefined;
  return { type: "thinking", thinking, signature };
}

/** Puts a blank line between parts, as a stream does. */
export const joinThoughts = (texts: readonly string[]): string => texts.join(separator);

/** The text that a stream puts before the first delta of a further part. */
export const thoughtSeparator = separator;

function signatureOf(
  item: JsonObject,
  content: readonly string[],
  summary: readonly string[],
  thinking: string,
): string {
  const { format, signature, encrypted_content: sealed, id } = item;
  const signed = typeof signature === "string" ? signature : "";
  const encrypted = typeof sealed === "string" ? sealed : "";
  if (format === claudeFormat) return signed === "" ? encrypted : signed;
  if (signed === "" && encrypted === "") return "";
  const held = {
    id,
    format,
    signature,
    encrypted_content: sealed,
    content: lengths(content),
    summary: lengths(summary),
    ...(thinking !== "" && { digest: digestOf(thinking) }),
  };
  return itemSeal + Buffer.from(JSON.stringify(held)).toString("base64url");
}

/** Tells a text from one that a client has changed; a client that means to deceive could as well send reasoning of its own. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 16);

const lengths = (texts: readonly string[]): readonly number[] => texts.map(({ length }) => length);

function textsOf(parts: unknown): readonly string[] {
  if (!Array.isArray(parts)) return noTexts;
  return parts.flatMap((part: unknown) => (isObject(part) && typeof part["text"] === "string" ? [part["text"]] : []));
}

/** A thinking block of the history as a reasoning item. */
export function toReasoningItem(thinking: string, signature: string): JsonObject {
  const sealed = signature.startsWith(itemSeal) ? openItem(signature, thinking) : undefined;
  if (sealed) return sealed;
  const content = thinking === "" ? [] : [{ type: "reasoning_text", text: thinking }];
  return signature === ""
    ? { type: "reasoning", summary: [], content }
    : { type: "reasoning", summary: [], content, format: claudeFormat, signature };
}

export const toRedactedItem = (data: string): JsonObject => ({
  type: "reasoning",
  summary: [],
  format: claudeFormat,
  encrypted_content: sealedByClaude + data,
});

/**
 * The item without its signature when a client has changed the text: its provider would refuse it, or read what the text no longer says.
 * @returns undefined for a seal that is damaged
 */
function openItem(seal: string, thinking: string): JsonObject | undefined {
  const held = parsed(Buffer.from(seal.slice(itemSeal.length), "base64url").toString());
  if (!isObject(held)) return undefined;
  const { id, format, signature, encrypted_content: encrypted, digest } = held;
  // A client that keeps no texts has changed none. A seal of an earlier version has no digest.
  if (thinking !== "" && typeof digest === "string" && digest !== digestOf(thinking))
    return { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: thinking }] };
  const [summary, content] = split(thinking, lengthsIn(held["summary"]), lengthsIn(held["content"]));
  return {
    type: "reasoning",
    ...(typeof id === "string" && { id }),
    summary: summary.map((text) => ({ type: "summary_text", text })),
    content: content.map((text) => ({ type: "reasoning_text", text })),
    ...(typeof format === "string" && { format }),
    ...(typeof signature === "string" && { signature }),
    ...(typeof encrypted === "string" && { encrypted_content: encrypted }),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

const lengthsIn = (value: unknown): readonly number[] =>
  Array.isArray(value) ? value.filter((length): length is number => Number.isSafeInteger(length) && length >= 0) : [];

/** Cuts a text into the parts that it was joined from. A text that a client has changed stays in one part. */
function split(
  text: string,
  summary: readonly number[],
  content: readonly number[],
): readonly [summary: readonly string[], content: readonly string[]] {
  const all = [...summary, ...content];
  const total = all.reduce((sum, length) => sum + length, 0) + Math.max(0, all.length - 1) * separator.length;
  if (total !== text.length) return content.length > 0 ? [noTexts, [text]] : [text === "" ? noTexts : [text], noTexts];
  let at = 0;
  const parts = all.map((length) => {
    const part = text.slice(at, at + length);
    at += length + separator.length;
    return part;
  });
  return [parts.slice(0, summary.length), parts.slice(summary.length)];
}
