/** The growing list of chat messages: calls join the assistant message before them, reasoning joins the one after it. */
import { type JsonObject, objects, text } from "../json.ts";
import type { TranslationContext } from "../translate/context.ts";

export type ChatMessage = { role: string; content: unknown; tool_calls?: JsonObject[]; [field: string]: unknown };

export interface ChatReasoning {
  readonly path: string;
  /** Either `reasoning_content` or `reasoning_details`. */
  readonly fields: JsonObject;
}

export class ChatMessageList {
  readonly #onDropped: TranslationContext["onDropped"];
  readonly #messages: ChatMessage[] = [];
  /** The assistant message that the next call joins. */
  #assistant: ChatMessage | undefined;
  #thoughts: ChatReasoning[] = [];
  /** Images and files from tool outputs. A tool message holds only text, so they follow as a user message. */
  #attachments: JsonObject[] = [];

  /** Whether the server answers 400 to a prompt right behind the result of a tool, as Mistral's does. */
  readonly #answersResults: boolean;
  /** Place in the request of the item that is written. */
  path = "input";

  constructor(onDropped: TranslationContext["onDropped"], answersResults = false) {
    this.#onDropped = onDropped;
    this.#answersResults = answersResults;
  }

  get length(): number {
    return this.#messages.length;
  }

  /** Whether nothing that follows can change the messages so far. */
  get isComplete(): boolean {
    return this.#assistant === undefined && this.#thoughts.length === 0 && this.#attachments.length === 0;
  }

  add(message: ChatMessage): void {
    this.#attach();
    this.#assistant = message.role === "assistant" ? message : undefined;
    if (!this.#assistant) this.#forget();
    if (this.#answersResults && !this.#assistant) this.#answerResult();
    this.#messages.push(message);
    if (this.#assistant) this.#think(this.#assistant);
  }

  /**
   * Text beside a call that has no output yet joins the message of the call: nothing may stand between call and output.
   * @returns the message, if it is one of its own
   */
  say(content: string, refusal: string): ChatMessage | undefined {
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
    open.content =
      [text(open.content), content + refusal].filter((translation) => translation !== "").join("\n") || null;
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
    if (message.tool_calls === undefined) message.tool_calls = [call];
    else message.tool_calls.push(call);
  }

  answer(callId: unknown, content: unknown, attachments: readonly JsonObject[]): void {
    this.#assistant = undefined;
    this.#forget();
    this.#messages.push({ role: "tool", tool_call_id: callId, content });
    for (const attachment of attachments) this.#attachments.push(attachment);
  }

  finish(): readonly ChatMessage[] {
    this.#attach();
    this.#forget();
    return this.#messages;
  }

  #answerResult(): void {
    if (this.#messages.at(-1)?.role !== "tool") return;
    this.#messages.push({ role: "assistant", content: "(no message)" });
    this.#onDropped(this.path, "repaired: a message of the assistant is sent before it, as the format requires");
  }

  #think(message: ChatMessage): void {
    if (this.#thoughts.length === 0) return;
    for (const { fields } of this.#thoughts) {
      for (const [name, value] of Object.entries(fields)) {
        const before = message[name];
        message[name] = Array.isArray(value) ? [...objects(before), ...objects(value)] : text(before) + text(value);
      }
    }
    this.#thoughts = [];
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
