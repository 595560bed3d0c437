/**
 * Where in a request stands what the web says: with the words of the user, directly before his last message. What a page says must not carry the
 * weight of instructions, and what leads to it stays as a provider's cache knows it.
 */
import type { InputItem } from "../../turn/request.ts";
import { dataText } from "../../web/data.ts";

export const dataItem = (intro: string, entries: readonly string[]): InputItem => ({
  type: "message",
  role: "user",
  content: dataText(intro, entries),
});

/** Before what the user says last; at the end where he says nothing. */
export function withData(input: readonly InputItem[], items: readonly InputItem[]): readonly InputItem[] {
  const last = input.findLastIndex(({ type, role }) => type === "message" && role === "user");
  const at = last === -1 ? input.length : last;
  return [...input.slice(0, at), ...items, ...input.slice(at)];
}

/** What the user says, the last message first; messages without text are left out. */
export const saidByUser = (input: readonly InputItem[]): readonly string[] =>
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
