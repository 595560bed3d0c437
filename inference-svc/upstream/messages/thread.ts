/** Messages as they grow: one role after the other, results of tools first, thoughts before what the assistant says next. */
import type { Lose } from "../dialect.ts";
import type { JsonObject } from "../json.ts";

/** Marks of the cache are put on later. */
export type Block = { readonly type: string; [field: string]: unknown };

export interface Message {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

interface Thought {
  readonly path: string;
  readonly block: Block;
}

export class Thread {
  readonly #lose: Lose;
  readonly messages: Message[] = [];
  #thoughts: Thought[] = [];

  constructor(lose: Lose) {
    this.#lose = lose;
  }

  ask(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    this.#forget();
    this.#last("user").content.push(...blocks);
  }

  /** The provider wants what answers the calls before everything else. */
  answer(result: JsonObject): void {
    this.#forget();
    const { content } = this.#last("user");
    const results = content.filter(({ type }) => type === "tool_result").length;
    content.splice(results, 0, { type: "tool_result", ...result });
  }

  say(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    const { content } = this.#last("assistant");
    content.push(...this.#thoughts.map(({ block }) => block), ...blocks);
    this.#thoughts = [];
  }

  think(thought: Thought): void {
    this.#thoughts.push(thought);
  }

  finish(): readonly Message[] {
    this.#forget();
    return this.messages;
  }

  #last(role: Message["role"]): Message {
    const last = this.messages.at(-1);
    if (last?.role === role) return last;
    const message: Message = { role, content: [] };
    this.messages.push(message);
    return message;
  }

  /** A message cannot end with a thought. */
  #forget(): void {
    for (const { path } of this.#thoughts) this.#lose(path, "nothing that the assistant said follows it");
    this.#thoughts = [];
  }
}

export const textBlock = (text: string): Block => ({ type: "text", text });
