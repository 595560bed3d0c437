/**
 * Converts reasoning items to thinking blocks, and back.
 *
 * Claude's signatures are passed unchanged, so a conversation can continue at Anthropic itself. Reasoning of other models is sealed into the signature,
 * with all fields of its item except its text: its provider gets the same item again.
 */
import { createHash } from "node:crypto";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";

/** Value of `format` in reasoning signed by Claude. */
const claudeFormat = "anthropic-claude-v1";

/** Prefix of encrypted Claude reasoning, as sealed into `encrypted_content` by inference-svc. */
const sealedByClaude = `sluice:${claudeFormat}:data:`;

/** Prefix of a signature that contains a sealed item. Signatures of Claude are bare base64 without a prefix. */
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
  // Providers stream summaries before raw reasoning.
  const thinking = joinThoughts([...summary, ...content]);
  const signature = signatureOf(item, content, summary, thinking);
  if (signature.startsWith(sealedByClaude)) {
    return { type: "redacted_thinking", data: signature.slice(sealedByClaude.length) };
  }
  if (thinking === "" && signature === "") return undefined;
  return { type: "thinking", thinking, signature };
}

/** Joins parts with a blank line, like a stream. */
export const joinThoughts = (texts: readonly string[]): string => texts.join(separator);

/** The text written before the first delta of each further part in a stream. */
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

/** Digest of a text, which detects a text changed by a client. It is no protection: a malicious client could as well send made-up reasoning. */
const digestOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 16);

const lengths = (texts: readonly string[]): readonly number[] => texts.map(({ length }) => length);

function textsOf(parts: unknown): readonly string[] {
  if (!Array.isArray(parts)) return noTexts;
  return parts.flatMap((part: unknown) => (isObject(part) && typeof part["text"] === "string" ? [part["text"]] : []));
}

/** Converts a thinking block of the conversation to a reasoning item. */
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
 * The sealed item. If a client has changed the text, only this text is left: the provider would reject the signature, or read a text other than the
 * visible one.  @returns undefined for a damaged seal
 */
function openItem(seal: string, thinking: string): JsonObject | undefined {
  const held = parsed(Buffer.from(seal.slice(itemSeal.length), "base64url").toString());
  if (!isObject(held)) return undefined;
  const { id, format, signature, encrypted_content: encrypted, digest } = held;
  // An absent text counts as unchanged. A seal of an earlier version has no digest to compare.
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

/** Splits a joined text into its original parts. A text changed by a client stays in one part. */
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
