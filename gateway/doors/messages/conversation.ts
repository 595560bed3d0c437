/** Converts messages to input items. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { type ByteSpan, elementsOf, memberOf } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { toJsonString } from "../../edge/turns/json.ts";
import { MessageNote, type Unsent } from "./notes.ts";
import {
  type Block,
  type OnFieldNotSent,
  type InputPart,
  isWebCitation,
  partJson,
  toAnswerText,
  toParts,
} from "./parts.ts";
import type { ItemPaths } from "./field-names.ts";
import { describeCall, isServerCall, isServerResult, toServerItem } from "./server-history.ts";
import { toReasoningItem, toRedactedItem } from "./thinking.ts";

export interface Message {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly Block[];
}

/** Copies the inputs of calls from the client's bytes, because parsing and rewriting would round large numbers. */
export class CallInputTexts {
  readonly #body: Buffer;
  readonly #messages: { spanOf(index: number): ByteSpan };
  /** Number of the message whose blocks were located last: locating them again for each of thousands of calls would be slow. */
  #message = -1;
  #blocks: readonly ByteSpan[] = [];

  /** @param messages places of the messages in the body */
  constructor(body: Buffer, messages: { spanOf(index: number): ByteSpan }) {
    this.#body = body;
    this.#messages = messages;
  }

  at(message: number, block: number): string {
    if (this.#message !== message) this.#blocks = this.#blocksOf(message);
    this.#message = message;
    const input = memberOf(this.#body, this.#blocks[block]!.start, "input") as ByteSpan;
    return this.#body.toString("utf8", input.start, input.end);
  }

  #blocksOf(message: number): readonly ByteSpan[] {
    const content = memberOf(this.#body, this.#messages.spanOf(message).start, "content") as ByteSpan;
    return elementsOf(this.#body, content.start);
  }
}

interface PlacedPart {
  readonly part: InputPart;
  readonly path: string;
}

export class Conversation {
  /** For each item, the block or message of the request from which it was made. */
  readonly places: ItemPaths[] = [];
  /** Names of tools that a search by the client or the provider has found. */
  readonly found = new Set<string>();
  /** Fields of the request that reach no provider. */
  readonly unsent: Unsent[] = [];
  /** Ids of the function calls so far. */
  readonly #calls = new Set<string | undefined>();
  readonly #inputs: CallInputTexts;
  readonly #onUnsent: OnFieldNotSent = (path, reason) => void this.#note.unsent.push({ path, reason });
  #json = "";
  #note = new MessageNote();
  /** Results within the message. */
  /** Results, in this message, of calls that have not been read yet. */
  #results = new Map<string | undefined, Block>();

  constructor(inputs: CallInputTexts) {
    this.#inputs = inputs;
  }

  /** Items of the message read last, each followed by a comma. */
  get json(): string {
    return this.#json;
  }

  /**
   * Reads the system prompt. A text and a list with one text give the same item, so a client that alternates between both keeps its hits in the
   * provider's cache.
   */
  readSystem(content: string | readonly Block[], path: string): void {
    this.#begin();
    this.#addMessage("system", this.#parts(content, path), path);
    this.skip(this.#note);
  }

  /** Takes over the facts about a message converted in an earlier request. */
  skip({ places, calls, found, unsent }: MessageNote): void {
    for (const place of places) this.places.push(place);
    for (const id of calls) this.#calls.add(id);
    for (const name of found) this.found.add(name);
    for (const field of unsent) this.unsent.push(field);
  }

  /** Reads a message; afterwards `json` contains its items. */
  read({ role, content }: Message, index: number): MessageNote {
    this.#begin();
    const message = `messages.${index}`;
    const path = `${message}.content`;
    if (role === "assistant") this.#answer(content, index, path);
    else if (role === "system" || typeof content === "string")
      this.#addMessage(role, this.#parts(content, path), message);
    else this.#addQuestion(content, path, message);
    this.skip(this.#note);
    return this.#note;
  }

  #begin(): void {
    this.#json = "";
    this.#note = new MessageNote();
  }

  #parts(content: string | readonly Block[], path: string): readonly PlacedPart[] {
    if (typeof content === "string") return [{ part: { type: "input_text", text: content }, path }];
    return content.flatMap((block, index) => this.#placed(block, `${path}.${index}`));
  }

  #placed(block: Block, path: string): readonly PlacedPart[] {
    return toParts(block, path, this.#onUnsent).map((part) => ({ part, path }));
  }

  #addMessage(role: Message["role"], content: readonly PlacedPart[], path: string): void {
    if (content.length === 0) return;
    this.#add(`{"type":"message","role":"${role}","content":${partsJson(content)}}`, path, content);
  }

  #add(item: string, path: string, content: readonly PlacedPart[] = []): void {
    this.#json += `${item},`;
    this.#note.places.push({ path, parts: content.map((part) => part.path) });
  }

  #addQuestion(blocks: readonly Block[], path: string, message: string): void {
    let parts: PlacedPart[] = [];
    for (const [index, block] of blocks.entries()) {
      const at = `${path}.${index}`;
      if (block.type !== "tool_result") {
        parts.push(...this.#placed(block, at));
        continue;
      }
      this.#addMessage("user", parts, message);
      parts = [];
      this.#result(block, at);
    }
    this.#addMessage("user", parts, message);
  }

  /** Writes the result of a tool. @throws Fault INVALID_REQUEST for a result without its call */
  #result(block: Block, path: string): void {
    const { content = "", cache_control: mark } = block;
    if (!this.#calls.has(block.tool_use_id)) {
      throw invalid(`${path}.tool_use_id`, "no tool_use in the messages before has this id");
    }
    const blocks = content as string | readonly Block[] | null;
    if (Array.isArray(blocks)) this.#noteFound(blocks as readonly Block[]);
    const isPlain = typeof blocks === "string" && (!mark || blocks === "");
    const parts = isPlain ? [] : this.#resultParts(blocks, mark, path);
    // A cache mark needs a part to stand on, but an empty result has none.
    if (mark && parts.length === 0) this.#onUnsent(`${path}.cache_control`, "the result is empty");
    // A text without a cache mark stays a string.
    const output = isPlain ? toJsonString(blocks) : parts.length === 0 ? '""' : partsJson(parts);
    const status = block.is_error === true ? ',"status":"incomplete"' : "";
    const id = toJsonString(block.tool_use_id!);
    this.#add(`{"type":"function_call_output","call_id":${id},"output":${output}${status}}`, path, parts);
  }

  #resultParts(
    content: string | readonly Block[] | null,
    mark: Block["cache_control"],
    path: string,
  ): readonly PlacedPart[] {
    const parts = this.#parts(content ?? [], `${path}.content`);
    const last = parts.at(-1);
    if (last === undefined || !mark) return parts;
    return [...parts.slice(0, -1), { part: { ...last.part, cache_control: mark }, path }];
  }

  #noteFound(blocks: readonly Block[]): void {
    for (const { type, tool_name: name } of blocks)
      if (type === "tool_reference") this.#note.found.push(name as string);
  }

  #answer(content: string | readonly Block[], message: number, path: string): void {
    const at = `messages.${message}`;
    if (typeof content === "string") {
      return this.#addMessage("assistant", [{ part: toAnswerText({ type: "text", text: content }), path }], at);
    }
    this.#results = serverResultsIn(content);
    let textParts: PlacedPart[] = [];
    for (const [index, block] of content.entries()) {
      const place = `${path}.${index}`;
      if (block.cache_control && block.type !== "text" && block.type !== "tool_use")
        this.#onUnsent(`${place}.cache_control`, "only texts, calls and results have cache marks");
      if (isServerResult(block)) continue;
      const item = block.type === "text" ? undefined : this.#called(block, message, index);
      if (item === undefined) {
        textParts.push({ part: this.#saidPart(block, place), path: place });
        continue;
      }
      this.#addMessage("assistant", textParts, at);
      textParts = [];
      this.#add(JSON.stringify(item), place);
    }
    this.#addMessage("assistant", textParts, at);
  }

  /** A text part of the assistant. Its citations of web pages stay with it; citations of documents have no counterpart in a turn. */
  #saidPart(block: Block, path: string): InputPart {
    if (block.type !== "text")
      return toAnswerText({ type: "text", text: describeCall(block, this.#takeResult(block)) });
    const { citations } = block;
    if (Array.isArray(citations) && citations.some((citation) => !isWebCitation(citation as JsonObject)))
      this.#onUnsent(`${path}.citations`, "only citations of web pages are sent back");
    return toAnswerText(block);
  }

  #called(block: Block, message: number, index: number): JsonObject | undefined {
    switch (block.type) {
      case "thinking":
        return toReasoningItem(block.thinking ?? "", block.signature ?? "");
      case "redacted_thinking":
        return toRedactedItem(block.data ?? "");
      case "tool_use":
        this.#note.calls.push(block.id);
        return {
          type: "function_call",
          call_id: block.id,
          name: block.name,
          arguments: this.#inputs.at(message, index),
          ...(block.cache_control && { cache_control: block.cache_control }),
        };
      default: {
        const result = this.#results.get(block.id);
        if (result?.type === "tool_search_tool_result") this.#noteSearch(result.content);
        const item = isServerCall(block) ? toServerItem(block, result) : undefined;
        if (item) this.#takeResult(block);
        return item;
      }
    }
  }

  /**
   * The result of a call, which only the first call with its id gets. Repeating the result for every call with that id could turn a body of 0.5 MB
   * into an input of 100 MB.
   */
  #takeResult({ id }: Block): Block | undefined {
    const result = this.#results.get(id);
    this.#results.delete(id);
    return result;
  }

  #noteSearch(content: unknown): void {
    const references = (content as { readonly tool_references?: unknown } | null)?.tool_references;
    if (Array.isArray(references)) this.#noteFound(references as readonly Block[]);
  }
}

/** Results of server tool calls by call id; for a repeated id, the first result. */
function serverResultsIn(blocks: readonly Block[]): Map<string | undefined, Block> {
  const results = new Map<string | undefined, Block>();
  for (const block of blocks) {
    if (isServerResult(block) && !results.has(block.tool_use_id)) results.set(block.tool_use_id, block);
  }
  return results;
}

const partsJson = (placed: readonly PlacedPart[]): string => `[${placed.map(({ part }) => partJson(part)).join(",")}]`;
