/**
 * Inserts text from the web into a request, as a user message directly before the user's last message: it must not have
 * the weight of instructions, and the beginning of the request stays in a provider's prompt cache.
 */
import type { InputItem } from "../../turn/request.ts";
import { wrapAsData } from "../../content/wrapped-data.ts";

export const dataItem = (intro: string, entries: readonly string[]): InputItem => ({
  type: "message",
  role: "user",
  content: wrapAsData(intro, entries),
});

/** Inserts an item before the last user message, or at the end if there is none. */
export function insertData(input: readonly InputItem[], items: readonly InputItem[]): readonly InputItem[] {
  const last = input.findLastIndex(({ type, role }) => type === "message" && role === "user");
  const at = last === -1 ? input.length : last;
  return [...input.slice(0, at), ...items, ...input.slice(at)];
}

/** Texts of the user's messages, latest first; messages without text are left out. */
export const latestUserTexts = (input: readonly InputItem[]): readonly string[] =>
  input
    .filter(({ type, role }) => type === "message" && role === "user")
    .map(({ content }) => textOf(content))
    .filter((text) => text.trim() !== "")
    .toReversed();

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("\n");
}
