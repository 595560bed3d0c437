/** What users have said in a conversation, as those read it who choose a model for it. */
import type { InputItem } from "../turn/request.ts";

const isUser = ({ type, role }: InputItem): boolean => type === "message" && role === "user";

/** Messages of users, in their order; what is no text in them is named by its kind. */
export const saidByUsers = (input: readonly InputItem[]): readonly string[] =>
  input.filter(isUser).map(({ content }) => textOf(content));

/** Whether the last thing in a conversation is what a tool gave back, so that the same task goes on. */
export function isToolTurn(input: readonly InputItem[]): boolean {
  const last = input.findLast((item) => isUser(item) || item.type.endsWith("_output") || item.type === "mcp_call");
  return last !== undefined && !isUser(last);
}

/** Of the content of a message. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { type?: unknown; text?: unknown } | null) =>
      typeof part?.text === "string" ? part.text : `[${String(part?.type)}]`,
    )
    .join("\n");
}
