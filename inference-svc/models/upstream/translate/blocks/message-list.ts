/**
 * The growing list of messages with alternating roles. Tool results come first in a message, and reasoning comes before
 * the assistant's next block.
 */
import type { OnDropped } from "../../dialect.ts";

/** A content block. Its fields are not read-only, because cache marks are added later. */
export type Block = { readonly type: string; [field: string]: unknown };

export interface BlockMessage {
  readonly role: "user" | "assistant" | "system";
  readonly content: Block[];
}

interface Thought {
  readonly path: string;
  readonly block: Block;
}

/** A system message in the middle of the conversation. */
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
  /** Path in the request of the assistant's last blocks. */
  #lastSaid = "input";
  readonly #thoughts: Thought[] = [];
  /** System messages whose place depends on the message that follows. */
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

  /** Adds a system message, which becomes a user message if it is not allowed in this place. */
  instruct(prompt: Prompt): void {
    if (prompt.blocks.length === 0) return;
    this.#forget();
    this.#prompts.push(prompt);
  }

  /** Adds the result of a call. The provider requires results before everything else in a message. */
  answer(result: Block): void {
    this.#forget();
    this.#place(false);
    const { content } = this.#last("user");
    let at = content.length;
    while (at > 0 && content[at - 1]?.type !== result.type) at--;
    content.splice(at, 0, result);
  }

  /** @param path path in the request of a message with these blocks */
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

  /** Returns all messages. @param beginsWithUser whether the provider answers 400 to a conversation that starts with the assistant */
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

  /** Removes white space at the end of an unfinished answer, to which the providers answer 400. */
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
   * Places waiting system messages. Anthropic takes one between a message of the user and one of the assistant, or at
   * the end (https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages).
   * @param isOver whether a message of the assistant comes next, or none
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

  /** Drops reasoning that nothing follows, because a message cannot end with it. */
  #forget(): void {
    for (const { path } of this.#thoughts.splice(0)) this.#onDropped(path, "no message of the assistant follows it");
  }
}

export const textBlock = (text: string): Block => ({ type: "text", text });
