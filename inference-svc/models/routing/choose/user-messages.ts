/** Reads the user messages of a conversation, for routers whose choice depends on them. */
import type { InputItem } from "../../../turn/request.ts";

const isUser = ({ type, role }: InputItem): boolean => type === "message" && role === "user";

/** Texts of user messages in order; parts without text are named by their type. */
export const userMessages = (input: readonly InputItem[]): readonly string[] =>
  input.filter(isUser).map(({ content }) => messageText(content));

/** Whether a conversation ends with the output of a tool: the same task goes on. */
export function endsWithToolOutput(input: readonly InputItem[]): boolean {
  const last = input.findLast((item) => isUser(item) || item.type.endsWith("_output") || item.type === "mcp_call");
  return last !== undefined && !isUser(last);
}

/** The user's last request in a conversation. */
export interface UserRequest {
  /** Absent in a conversation without user messages. */
  readonly message?: InputItem;
  /** Text of the message without the notes added by the user's program. */
  readonly text: string;
}

/** Maximum number of recent user messages to search. */
const maxSearched = 32;

/**
 * Finds the latest user message with a request. Agents put their own notes into user messages, and people write "go on"; a router that follows
 * these would choose another model in the middle of a task. If no message has a request, the last message counts unchanged.
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

/** The opening tag of a note. Programs name theirs in several words, such as `system-reminder` or `environment_context`; markup has no such names. */
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
      // Each name is searched in vain only once, so many opening tags do not take quadratic time.
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

/** Maximum length of a continuation. */
const maxContinuation = 40;

const isContinuation = (text: string): boolean =>
  text.length <= maxContinuation &&
  continuations.has(
    text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}]+/gu, " ")
      .trim(),
  );

/** Text of the content of a message. */
export function messageText(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: { type?: unknown; text?: unknown } | null) =>
      typeof part?.text === "string" ? part.text : `[${String(part?.type)}]`,
    )
    .join("\n");
}
