/** Reads the user messages of a conversation, for routers whose choice depends on them. */
import type { InputItem } from "../../../turn/request.ts";

const isUser = ({ type, role }: InputItem): boolean => type === "message" && role === "user";

/** Texts of the user messages in order; parts without text are represented by their type. */
export const userMessages = (input: readonly InputItem[]): readonly string[] =>
  input.filter(isUser).map(({ content }) => messageText(content));

/** Whether a conversation ends with the output of a tool, so the same task goes on. */
export function endsWithToolOutput(input: readonly InputItem[]): boolean {
  const last = input.findLast((item) => isUser(item) || item.type.endsWith("_output") || item.type === "mcp_call");
  return last !== undefined && !isUser(last);
}

/** The user's last request in a conversation. */
export interface UserRequest {
  /** The message with the request; absent in a conversation without user messages. */
  readonly message?: InputItem;
  /** Text of the message without the notes that the user's program has added. */
  readonly text: string;
}

/** Maximum number of the latest user messages searched. */
const maxSearched = 32;

/**
 * Finds the latest user message with a request. Agents put their own notes into user messages, and people write "go
 * on"; a router that follows these would choose another model in the middle of a task. If no message contains a
 * request, the last message is used unchanged.
 */
export function findLastUserRequest(input: readonly InputItem[]): UserRequest {
  const userItems = input.filter(isUser).slice(-maxSearched);
  for (const message of userItems.toReversed()) {
    const text = withoutNotes(messageText(message["content"])).trim();
    if (text !== "" && !isContinuation(text)) return { message, text };
  }
  const message = userItems.at(-1);
  return message === undefined ? { text: "" } : { message, text: messageText(message["content"]) };
}

/**
 * Matches the opening tag of a program's note. Programs use names of several words, such as `system-reminder` or
 * `environment_context`; markup has no such names.
 */
const noteTag = /<([a-z]{1,40}[-_][a-z_-]{1,40})>/g;

function withoutNotes(text: string): string {
  let kept = "";
  let end = 0;
  const unclosed = new Set<string>();
  for (const { 0: tag, 1: name = "", index } of text.matchAll(noteTag)) {
    if (index < end || unclosed.has(name)) continue;
    const closing = `</${name}>`;
    const closes = text.indexOf(closing, index + tag.length);
    if (closes < 0) {
      // A missing closing tag is searched only once for each name, so many opening tags do not take quadratic time.
      unclosed.add(name);
      continue;
    }
    kept += text.slice(end, index);
    end = closes + closing.length;
  }
  return kept + text.slice(end);
}

/** Messages that continue the task without naming it, in lower case and without punctuation. */
const continuations: ReadonlySet<string> = new Set(
  (
    "go on|go ahead|continue|continue please|please continue|keep going|carry on|proceed|next|next one|next step|more|again|try again|retry|and now|now what|" +
    "yes|yes please|yes go ahead|yes continue|yes do it|yep|yeah|y|ok|okay|ok go on|ok continue|ok do it|sure|do it|do that|do so|go for it|sounds good|" +
    "looks good|looks good continue|lgtm|weiter|mach weiter|bitte weiter|ja|ja bitte|ja mach das|mach das|nochmal|continuez|vas y|oui|encore|sigue|continúa|" +
    "continua|sí|si|otra vez|avanti|vai|ga door|verder|继续|続けて|계속"
  ).split("|"),
);

/** Maximum characters of a message that only continues the task. */
const maxContinuation = 40;

const isContinuation = (text: string): boolean =>
  text.length <= maxContinuation &&
  continuations.has(
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
      .trim(),
  );

/** Joins the texts in the content of a message. */
export function messageText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { type?: unknown; text?: unknown } | null) =>
      typeof part?.text === "string" ? part.text : `[${String(part?.type)}]`,
    )
    .join("\n");
}
