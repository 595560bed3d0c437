/** The growing list of messages with alternating roles: tool results come first, and reasoning before the assistant's next block. */
import type { OnDropped } from "../../dialect.ts";

/** Cache marks are added later, so fields are not read-only. */
export type Block = { readonly type: string; [field: string]: unknown };

export interface BlockMessage {
  readonly role: "user" | "assistant" | "system";
  readonly content: Block[];
}

interface Thought {
  readonly path: string;
  readonly block: Block;
}

/** A message of the system amid the conversation. */
interface Prompt {
  readonly path: string;
  readonly blocks: readonly Block[];
}

/** Text of the user message inserted before a conversation that starts with the assistant. */
const opening = "(no message)";
const misplaced = "sent as the user's: the format has system messages only right before the assistant's";

export class MessageList {
  readonly #onDropped: OnDropped;
  readonly messages: BlockMessage[] = [];
  /** Place in the request of the assistant's last blocks. */
  #lastSaid = "input";
  readonly #thoughts: Thought[] = [];
  /** Messages of the system whose place depends on the message after them. */
  #prompts: Prompt[] = [];

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  addUserMessage(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    this.#forget();
    this.#place(false);
    const { content } = this.#last("user");
    for (const block of blocks) content.push(block);
  }

  /** Adds a message of the system, which becomes the user's where it cannot stand. */
  instruct(prompt: Prompt): void {
    if (prompt.blocks.length === 0) return;
    this.#forget();
    this.#prompts.push(prompt);
  }

  /** The provider wants the results of calls before everything else in a message. */
  answer(result: Block): void {
    this.#forget();
    this.#place(false);
    const { content } = this.#last("user");
    let at = content.length;
    while (at > 0 && content[at - 1]?.type !== result.type) at--;
    content.splice(at, 0, result);
  }

  /** @param path place in the request of a message with these blocks */
  addAssistantMessage(blocks: readonly Block[], path = "input"): void {
    if (blocks.length === 0) return;
    this.#lastSaid = path;
    this.#place(true);
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
    this.#place(true);
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

  /**
   * Anthropic takes one message of the system between one of the user and one of the assistant, or at the end
   * (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
   * @param isOver whether the assistant's message comes next, or nothing
   */
  #place(isOver: boolean): void {
    if (this.#prompts.length === 0) return;
    const role = isOver && this.messages.at(-1)?.role === "user" ? "system" : "user";
    const { content } = this.#last(role);
    for (const { path, blocks } of this.#prompts) {
      if (role === "user") this.#onDropped(path, misplaced);
      content.push(...blocks);
    }
    this.#prompts = [];
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
