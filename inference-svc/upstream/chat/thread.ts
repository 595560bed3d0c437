/** Messages of chat as they grow: calls go into the message of the assistant before them, thoughts into the one after them. */
import { type JsonObject, objects, text } from "../json.ts";
import type { Words } from "../words.ts";

export type Message = { role: string; content: unknown; [field: string]: unknown };

export interface Thought {
  readonly path: string;
  /** `reasoning_content` or `reasoning_details`. */
  readonly fields: JsonObject;
}

export class Thread {
  readonly #lose: Words["lose"];
  readonly #messages: Message[] = [];
  /** The message of the assistant that the next call belongs to. */
  #assistant: Message | undefined;
  #thoughts: Thought[] = [];
  /** Images and files out of tool outputs: a tool message holds text only, so they follow as the user's. */
  #attachments: JsonObject[] = [];

  constructor(lose: Words["lose"]) {
    this.#lose = lose;
  }

  add(message: Message): void {
    this.#attach();
    this.#assistant = message.role === "assistant" ? message : undefined;
    if (this.#assistant) this.#think(this.#assistant);
    else this.#forget();
    this.#messages.push(message);
  }

  /** What is said beside a call that is not answered yet goes into its message: nothing may stand between the two. */
  say(content: string, refusal: string): void {
    const open = this.#assistant;
    if (open === undefined || open.tool_calls === undefined) {
      return this.add({
        role: "assistant",
        content: refusal === "" ? content : content || null,
        ...(refusal !== "" && { refusal }),
      });
    }
    this.#think(open);
    open.content = [text(open.content), content + refusal].filter((words) => words !== "").join("\n") || null;
  }

  think(thought: Thought): void {
    this.#thoughts.push(thought);
  }

  call(call: JsonObject): void {
    if (!this.#assistant) this.add({ role: "assistant", content: null });
    const message = this.#assistant;
    if (!message) return;
    this.#think(message);
    message.tool_calls = [...objects(message.tool_calls), call];
  }

  answer(callId: unknown, content: unknown, attachments: readonly JsonObject[]): void {
    this.#assistant = undefined;
    this.#forget();
    this.#messages.push({ role: "tool", tool_call_id: callId, content });
    this.#attachments.push(...attachments);
  }

  finish(): readonly Message[] {
    this.#attach();
    this.#forget();
    return this.#messages;
  }

  #think(message: Message): void {
    for (const { fields } of this.#thoughts) {
      for (const [name, value] of Object.entries(fields)) {
        const before = message[name];
        message[name] = Array.isArray(value) ? [...objects(before), ...objects(value)] : text(before) + text(value);
      }
    }
    this.#thoughts = [];
  }

  #forget(): void {
    for (const { path } of this.#thoughts) this.#lose(path, "nothing that the assistant said follows it");
    this.#thoughts = [];
  }

  #attach(): void {
    if (this.#attachments.length === 0) return;
    this.#messages.push({ role: "user", content: this.#attachments });
    this.#attachments = [];
  }
}
