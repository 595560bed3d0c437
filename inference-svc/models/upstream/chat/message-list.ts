/** The growing list of chat messages. Calls join the assistant message before them, and reasoning joins the one after it. */
import { type JsonObject, objects, text } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";
import { PromptsAmidCalls } from "../translate/prompts-amid-calls.ts";

export type ChatMessage = { role: string; content: unknown; tool_calls?: JsonObject[]; [field: string]: unknown };

export interface ChatReasoning {
  readonly path: string;
  /** Fields for the assistant message. Parts in `content` are placed before its text. */
  readonly fields: JsonObject;
}

export interface MessageRules {
  /** Whether the server answers 400 to a prompt right after the result of a tool, as Mistral's does. */
  readonly answersResults: boolean;
  /** Whether entries of `reasoning_details` have their index in the message. */
  readonly countsDetails: boolean;
}

export class ChatMessageList {
  readonly #onDropped: TranslationContext["onDropped"];
  readonly #messages: ChatMessage[] = [];
  /** The assistant message the next call joins. */
  #assistant: ChatMessage | undefined;
  #thoughts: ChatReasoning[] = [];
  /** Images and files from tool outputs that wait for the next message: a tool message holds only text, so they follow as a user message. */
  #attachments: JsonObject[] = [];

  readonly #prompts: PromptsAmidCalls<ChatMessage>;
  readonly #rules: MessageRules;
  /** Path in the request of the item being translated. */
  path = "input";

  constructor(onDropped: TranslationContext["onDropped"], rules: MessageRules) {
    this.#onDropped = onDropped;
    this.#prompts = new PromptsAmidCalls(onDropped);
    this.#rules = rules;
  }

  get length(): number {
    return this.#messages.length;
  }

  /** Whether later items cannot change the messages so far. */
  get isComplete(): boolean {
    return (
      this.#assistant === undefined &&
      this.#thoughts.length === 0 &&
      this.#attachments.length === 0 &&
      this.#prompts.isSettled
    );
  }

  add(message: ChatMessage): void {
    if (message.role === "assistant") this.#release();
    else if (this.#prompts.holds(message, this.path)) {
      this.#assistant = undefined;
      return this.#forget();
    }
    this.#attach();
    this.#assistant = message.role === "assistant" ? message : undefined;
    if (!this.#assistant) this.#forget();
    if (this.#rules.answersResults && !this.#assistant) this.#answerResult();
    this.#messages.push(message);
    if (this.#assistant) this.#think(this.#assistant);
  }

  /**
   * Adds text of the assistant. Text next to a call without output joins the message of the call, because nothing may
   * stand between call and output.
   * @returns the message, if a new one was added
   */
  addAssistantMessage(content: string, refusal: string): ChatMessage | undefined {
    const open = this.#assistant;
    if (open === undefined || open.tool_calls === undefined) {
      const message: ChatMessage = {
        role: "assistant",
        content: refusal === "" ? content : content || null,
        ...(refusal !== "" && { refusal }),
      };
      this.add(message);
      return message;
    }
    this.#think(open);
    if (Array.isArray(open.content)) open.content = [...objects(open.content), ...textParts(content + refusal)];
    else open.content = [text(open.content), content + refusal].filter((each) => each !== "").join("\n") || null;
    return undefined;
  }

  think(thought: ChatReasoning): void {
    this.#thoughts.push(thought);
  }

  call(call: JsonObject): void {
    if (!this.#assistant) this.add({ role: "assistant", content: null });
    const message = this.#assistant;
    if (!message) return;
    this.#think(message);
    this.#prompts.call();
    if (message.tool_calls === undefined) message.tool_calls = [call];
    else message.tool_calls.push(call);
  }

  answer(callId: unknown, content: unknown, attachments: readonly JsonObject[]): void {
    this.#assistant = undefined;
    this.#forget();
    this.#messages.push({ role: "tool", tool_call_id: callId, content });
    for (const attachment of attachments) this.#attachments.push(attachment);
    this.#prompts.answer();
    if (this.#prompts.isSettled) this.#release();
  }

  finish(): readonly ChatMessage[] {
    this.#release();
    this.#attach();
    this.#forget();
    return this.#messages;
  }

  #release(): void {
    for (const message of this.#prompts.release()) this.add(message);
  }

  #answerResult(): void {
    if (this.#messages.at(-1)?.role !== "tool") return;
    this.#messages.push({ role: "assistant", content: "(no message)" });
    this.#onDropped(this.path, "repaired: a message of the assistant is sent before it, as the format requires");
  }

  #think(message: ChatMessage): void {
    if (this.#thoughts.length === 0) return;
    const parts = this.#thoughts.flatMap(({ fields }) => objects(fields.content));
    if (parts.length > 0) message.content = withThoughts(parts, message.content);
    for (const { fields } of this.#thoughts) {
      const { content: _, ...others } = fields;
      for (const [name, value] of Object.entries(others)) {
        const before = message[name];
        message[name] = Array.isArray(value)
          ? this.#joined(objects(before), objects(value))
          : text(before) + text(value);
      }
    }
    this.#thoughts = [];
  }

  #joined(details: readonly JsonObject[], more: readonly JsonObject[]): readonly JsonObject[] {
    const joined = [...details, ...more];
    return this.#rules.countsDetails ? joined.map((detail, index) => ({ ...detail, index })) : joined;
  }

  #forget(): void {
    if (this.#thoughts.length === 0) return;
    for (const { path } of this.#thoughts) this.#onDropped(path, "no message of the assistant follows it");
    this.#thoughts = [];
  }

  #attach(): void {
    if (this.#attachments.length === 0) return;
    this.#messages.push({ role: "user", content: this.#attachments });
    this.#attachments = [];
  }
}

/** A text as a list of content parts. */
const textParts = (content: string): readonly JsonObject[] => (content === "" ? [] : [{ type: "text", text: content }]);

const isThought = ({ type }: JsonObject): boolean => type === "thinking";

/** Content with reasoning added: it stands before the text, after reasoning that is already there. */
function withThoughts(thoughts: readonly JsonObject[], content: unknown): readonly JsonObject[] {
  const parts = typeof content === "string" ? textParts(content) : objects(content);
  return [...parts.filter(isThought), ...thoughts, ...parts.filter((part) => !isThought(part))];
}
