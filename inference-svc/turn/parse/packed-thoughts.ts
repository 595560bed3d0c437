/**
 * Reasoning that is not encrypted, packed into `encrypted_content` for clients that keep no other field of it: models
 * such as those of DeepSeek and Kimi need their reasoning back with the calls after it. The text is only encoded,
 * because the client has it in `content` as well. It is unpacked before anything reads the request, so guardrails,
 * estimates and providers see the same as from a client that keeps `content`.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";

const prefix = "sluice:unknown:text:";

/** Maximum bytes of packed reasoning: about 128,000 tokens, more than a model writes before one call. Longer reasoning is only in `content`. */
const maxBytes = 512 * 1024;
const maxPackedLength = prefix.length + Math.ceil((maxBytes * 4) / 3);

/** @param texts the parts of the reasoning @returns undefined for reasoning longer than `maxBytes` */
export function packThought(texts: readonly string[]): string | undefined {
  const json = JSON.stringify(texts);
  return Buffer.byteLength(json) <= maxBytes ? prefix + Buffer.from(json).toString("base64url") : undefined;
}

export const isPacked = (encrypted: unknown): encrypted is string =>
  typeof encrypted === "string" && encrypted.startsWith(prefix);

/** Unpacks reasoning into the content of its item. Content the client has sent takes precedence. */
export function unpackThought(item: Record<string, unknown>): void {
  const { encrypted_content: packed, content } = item;
  if (!isPacked(packed)) return;
  item["encrypted_content"] = null;
  if (Array.isArray(content) && content.length > 0) return;
  const texts = packed.length > maxPackedLength ? [] : textsIn(packed.slice(prefix.length));
  item["content"] = texts.map((text) => ({ type: "reasoning_text", text }));
}

/** The texts in packed reasoning; empty if it was altered. */
function textsIn(packed: string): readonly string[] {
  try {
    const texts: unknown = JSON.parse(Buffer.from(packed, "base64url").toString("utf8"));
    return Array.isArray(texts) ? texts.filter((text) => typeof text === "string") : [];
  } catch {
    return [];
  }
}

/** Whether an item is reasoning with a text that is neither signed nor encrypted. */
export const isOpenThought = (item: Readonly<Record<string, unknown>>): boolean =>
  item["type"] === "reasoning" &&
  (item["format"] ?? "unknown") === "unknown" &&
  [item["signature"], item["encrypted_content"]].every((seal) => seal === undefined || seal === null || seal === "") &&
  Array.isArray(item["content"]) &&
  item["content"].some((part) => isObject(part) && typeof part["text"] === "string" && part["text"] !== "");
