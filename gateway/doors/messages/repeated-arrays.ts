/** The arrays of a body repeated by each request of a conversation. */
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { RepeatedArray, parseUnread } from "../../edge/turns/repeated-array.ts";
import { MessageNote, ToolNote } from "./notes.ts";

/** Limits how many unknown fields of a hostile body are kept. */
const maxUnread = 64;

export class RepeatedArrays {
  readonly messages: RepeatedArray<MessageNote>;
  readonly tools: RepeatedArray<ToolNote>;
  readonly #body: Buffer;
  /** Paths of unknown fields, those in messages first: messages are the first field with any. */
  readonly #unread: string[] = [];

  constructor(body: Buffer, messages: JsonMember | undefined, tools: JsonMember | undefined) {
    this.#body = body;
    this.messages = new RepeatedArray(body, messages, MessageNote);
    this.tools = new RepeatedArray(body, tools, ToolNote);
    for (let index = 0; index < this.messages.known; index++) {
      for (const path of this.messages.note(index).unread) this.addUnread(path);
    }
  }

  /** The parsed body. Elements remembered from an earlier request are not parsed again: a short value stands for each of them. */
  parse(): unknown {
    const { messages, tools } = this;
    const body = parseUnread(this.#body, [messages, tools]) as { messages?: unknown; tools?: unknown };
    if (messages.known > 0) body.messages = messages.fill(body.messages);
    if (tools.known > 0) body.tools = tools.fill(body.tools);
    return body;
  }

  get unread(): readonly string[] {
    return this.#unread;
  }

  addUnread(path: string): void {
    if (this.#unread.length < maxUnread) this.#unread.push(path);
  }

  /** The unknown fields of an element; undefined when there may be others. @param element its path */
  unreadIn(element: string): readonly string[] | undefined {
    if (this.#unread.length === 0) return this.#unread;
    return this.#unread.length === maxUnread
      ? undefined
      : this.#unread.filter((path) => path.startsWith(`${element}.`));
  }
}
