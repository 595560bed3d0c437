/** The growing list of messages with alternating roles: tool results come first, and reasoning before the assistant's next block. */
import type { OnDropped } from "../../dialect.ts";

/** Cache marks are added later, so fields are not read-only. */
export type Block = { readonly type: string; [field: string]: unknown };

export interface BlockMessage {
  readonly role: "user" | "assistant";
  readonly content: Block[];
}

interface Thought {
  readonly path: string;
  readonly block: Block;
}

/** Text of the user message inserted before a conversation that starts with the assistant. */
const opening = "(no message)";

export class MessageList {
  readonly #onDropped: OnDropped;
  readonly messages: BlockMessage[] = [];
  /** Place in the request of the assistant's last blocks. */
  #lastSaid = "input";
  readonly #thoughts: Thought[] = [];

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  ask(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    this.#forget();
    const { content } = this.#last("user");
    for (const block of blocks) content.push(block);
  }

  /** The provider wants the results of calls before everything else in a message. */
  answer(result: Block): void {
    this.#forget();
    const { content } = this.#last("user");
    let at = content.length;
    while (at > 0 && content[at - 1]?.type !== result.type) at--;
    content.splice(at, 0, result);
  }

  /** @param path place in the request of a message with these blocks */
  say(blocks: readonly Block[], path = "input"): void {
    if (blocks.length === 0) return;
    this.#lastSaid = path;
    const { content } = this.#last("assistant");
    for (const { block } of this.#thoughts.splice(0)) content.push(block);
    for (const block of blocks) content.push(block);
  }

  think(thought: Thought): void {
    this.#thoughts.push(thought);
  }

  /** @param beginsWithUser whether the provider answers 400 to a conversation that starts with the assistant */
  finish(beginsWithUser: boolean): readonly BlockMessage[] {
    this.#forget();
    this.#trimPrefill();
    const [first] = this.messages;
    if (beginsWithUser && first?.role === "assistant") {
      this.#onDropped("input.0", "repaired: a message of the user is sent before it, as the format requires");
      this.messages.unshift({ role: "user", content: [textBlock(opening)] });
    }
    return this.messages;
  }

  /** The providers answer 400 to an unfinished answer with white space at its end. */
  #trimPrefill(): void {
    const last = this.messages.at(-1);
    const end = last?.role === "assistant" ? last.content.at(-1) : undefined;
    if (end?.type !== "text" || typeof end.text !== "string") return;
    const trimmed = end.text.trimEnd();
    if (trimmed === end.text) return;
    end.text = trimmed;
    this.#onDropped(this.#lastSaid, "repaired: sent without the white space at its end, which the format refuses");
  }

  #last(role: BlockMessage["role"]): BlockMessage {
    const last = this.messages.at(-1);
    if (last?.role === role) return last;
    const message: BlockMessage = { role, content: [] };
    this.messages.push(message);
    return message;
  }

  /** Drops reasoning with nothing after it, because a message cannot end with it. */
  #forget(): void {
    for (const { path } of this.#thoughts.splice(0)) this.#onDropped(path, "no message of the assistant follows it");
  }
}

export const textBlock = (text: string): Block => ({ type: "text", text });
