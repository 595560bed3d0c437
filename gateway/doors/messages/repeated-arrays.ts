/** The arrays that each request of a conversation sends again: messages and tools. */
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { RepeatedArray, parseUnread } from "../../edge/turns/repeated-array.ts";
import { MessageNote, ToolNote } from "./notes.ts";

/** Maximum number of unknown fields recorded, since a hostile body may contain any number. */
const maxUnread = 64;

export class RepeatedArrays {
  readonly messages: RepeatedArray<MessageNote>;
  readonly tools: RepeatedArray<ToolNote>;
  readonly #body: Buffer;
  /** Paths of unknown fields, first the paths in messages, which are read first. */
  readonly #unread: string[] = [];

  constructor(body: Buffer, messages: JsonMember | undefined, tools: JsonMember | undefined) {
    this.#body = body;
    this.messages = new RepeatedArray(body, messages, MessageNote);
    this.tools = new RepeatedArray(body, tools, ToolNote);
    for (let index = 0; index < this.messages.known; index++) {
      for (const path of this.messages.note(index).unread) this.addUnread(path);
    }
  }

  /** Parses the body. Elements known from an earlier request are not parsed again; a short stand-in takes the place of each. */
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

  /** @param element path of an element @returns paths of the unknown fields in the element; undefined when too many were found to know all */
  unreadIn(element: string): readonly string[] | undefined {
    if (this.#unread.length === 0) return this.#unread;
    return this.#unread.length === maxUnread
      ? undefined
      : this.#unread.filter((path) => path.startsWith(`${element}.`));
  }
}
