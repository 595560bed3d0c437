/** The growing list of messages for Cohere. Consecutive reasoning, text and calls of the assistant form one message. */
import { type JsonObject, text } from "../json.ts";
import type { OnDropped } from "../dialect.ts";
import { PromptsAmidCalls } from "../translate/prompts-amid-calls.ts";
import { isTextPart } from "./parts.ts";

/** An assistant message to which more can be added. */
interface Turn {
  /** Reasoning and text of the message, in order. */
  readonly parts: JsonObject[];
  readonly calls: JsonObject[];
}

export class CohereMessageList {
  readonly #messages: JsonObject[] = [];
  readonly #prompts: PromptsAmidCalls<readonly JsonObject[]>;
  #turn: Turn | undefined;
  /** Images of tool outputs that wait for the next message: a tool message holds only text, so they follow as a user message. */
  #attachments: JsonObject[] = [];

  constructor(onDropped: OnDropped) {
    this.#prompts = new PromptsAmidCalls(onDropped);
  }

  /** Whether there are only system messages so far. */
  get isEmpty(): boolean {
    return this.#messages.length === 0 && this.#turn === undefined;
  }

  /**
   * Adds a user message, unless it has no content: Cohere answers 400 to such a message.
   * @param path path of the message in the request
   */
  addUserMessage(parts: readonly JsonObject[], path: string): void {
    if (parts.length === 0) return;
    if (this.#prompts.holds(parts, path)) return this.#close();
    this.#settle();
    this.#messages.push({ role: "user", content: contentOf(parts) });
  }

  /** @param parts reasoning or texts */
  addAssistantMessage(parts: readonly JsonObject[]): void {
    if (parts.length > 0) this.#open().parts.push(...parts);
  }

  call(call: JsonObject): void {
    this.#open().calls.push(call);
    this.#prompts.call();
  }

  answer(callId: unknown, parts: readonly JsonObject[], images: readonly JsonObject[]): void {
    this.#close();
    this.#messages.push({ role: "tool", tool_call_id: callId, content: contentOf(parts) });
    this.#attachments.push(...images);
    this.#prompts.answer();
    if (this.#prompts.isSettled) this.#release();
  }

  /** Returns all messages. @param prompts parts of the system message */
  finish(prompts: readonly JsonObject[]): readonly JsonObject[] {
    this.#release();
    this.#settle();
    const system = prompts.length > 0 ? [{ role: "system", content: contentOf(prompts) }] : [];
    return [...system, ...this.#messages];
  }

  #release(): void {
    for (const parts of this.#prompts.release()) this.addUserMessage(parts, "");
  }

  #open(): Turn {
    if (!this.#turn) this.#release();
    if (this.#attachments.length > 0) this.#settle();
    return (this.#turn ??= { parts: [], calls: [] });
  }

  #close(): void {
    if (this.#turn) this.#messages.push(assistantMessage(this.#turn));
    this.#turn = undefined;
  }

  #settle(): void {
    this.#close();
    if (this.#attachments.length > 0) this.#messages.push({ role: "user", content: this.#attachments });
    this.#attachments = [];
  }
}

/**
 * Builds an assistant message. Text together with calls is a plan, the form in which Cohere's models send it
 * (https://docs.cohere.com/docs/tool-use-overview).
 */
function assistantMessage({ parts, calls }: Turn): JsonObject {
  if (calls.length === 0) return { role: "assistant", content: contentOf(parts) };
  const thoughts = parts.filter((part) => !isTextPart(part));
  const plan = parts
    .filter(isTextPart)
    .map((part) => text(part.text))
    .join("\n");
  return {
    role: "assistant",
    content: thoughts.length > 0 ? thoughts : undefined,
    tool_plan: plan === "" ? undefined : plan,
    tool_calls: calls,
  };
}

/** Content of a message. A single text is sent as a string, which every server accepts. */
function contentOf(parts: readonly JsonObject[]): unknown {
  const [only] = parts;
  if (only === undefined) return "";
  return parts.length === 1 && isTextPart(only) ? only.text : parts;
}
