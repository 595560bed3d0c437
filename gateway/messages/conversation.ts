/** Messages as input items. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { type ByteSpan, elementsOf, memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import { type Block, type OnUnsent, type InputPart, toParts } from "./parts.ts";
import type { ItemPlace } from "./field-names.ts";
import { describeCall, isServerCall, isServerResult, toServerItem } from "./server-history.ts";
import { toReasoningItem, toRedactedItem } from "./thinking.ts";

export interface Message {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly Block[];
}

/** Reads the inputs of calls as the client wrote them, because parsing and writing them again would round their numbers. */
class WrittenInputs {
  readonly #body: Buffer;
  readonly #messages: readonly ByteSpan[];

  constructor(body: Buffer, messages: ByteSpan) {
    this.#body = body;
    this.#messages = elementsOf(body, messages.start);
  }

  at(message: number, block: number): string {
    const written = this.#messages[message] as ByteSpan;
    const content = memberOf(this.#body, written.start, "content") as ByteSpan;
    const span = elementsOf(this.#body, content.start)[block] as ByteSpan;
    const input = memberOf(this.#body, span.start, "input") as ByteSpan;
    return this.#body.toString("utf8", input.start, input.end);
  }
}

interface PlacedPart {
  readonly part: InputPart;
  readonly path: string;
}

export class Conversation {
  readonly items: JsonObject[] = [];
  /** The block or message that each item was made of. */
  readonly places: ItemPlace[] = [];
  /** Names of tools that a search of the client or of the provider found. */
  readonly found = new Set<string>();
  /** Ids of the calls of functions so far. */
  readonly #calls = new Set<string | undefined>();
  readonly #onUnsent: OnUnsent;
  readonly #body: Buffer;
  readonly #span: ByteSpan;
  #inputs: WrittenInputs | undefined;

  /** @param span place of the messages in the body */
  constructor(body: Buffer, span: ByteSpan, onUnsent: OnUnsent) {
    this.#body = body;
    this.#span = span;
    this.#onUnsent = onUnsent;
  }

  /** Text and a list of one text are written alike, so that a client that changes between them keeps the provider's cache. */
  addSystem(content: string | readonly Block[], path: string): void {
    this.#say("system", this.#parts(content, path), path);
  }

  addMessages(messages: readonly Message[]): void {
    for (let index = 0; index < messages.length; index++) {
      const { role, content } = messages[index] as Message;
      const message = `messages.${index}`;
      const path = `${message}.content`;
      if (role === "assistant") this.#answer(content, index, path);
      else if (role === "system" || typeof content === "string") this.#say(role, this.#parts(content, path), message);
      else this.#ask(content, path, message);
    }
  }

  #parts(content: string | readonly Block[], path: string): readonly PlacedPart[] {
    if (typeof content === "string") return [{ part: { type: "input_text", text: content }, path }];
    return content.flatMap((block, index) => this.#placed(block, `${path}.${index}`));
  }

  #placed(block: Block, path: string): readonly PlacedPart[] {
    return toParts(block, path, this.#onUnsent).map((part) => ({ part, path }));
  }

  #say(role: Message["role"], content: readonly PlacedPart[], path: string): void {
    if (content.length > 0) this.#add({ type: "message", role, content: bareParts(content) }, path, content);
  }

  #add(item: JsonObject, path: string, content: readonly PlacedPart[] = []): void {
    this.items.push(item);
    this.places.push({ path, parts: content.map((part) => part.path) });
  }

  #ask(blocks: readonly Block[], path: string, message: string): void {
    let parts: PlacedPart[] = [];
    for (const [index, block] of blocks.entries()) {
      const at = `${path}.${index}`;
      if (block.type !== "tool_result") {
        parts.push(...this.#placed(block, at));
        continue;
      }
      this.#say("user", parts, message);
      parts = [];
      this.#result(block, at);
    }
    this.#say("user", parts, message);
  }

  /** @throws Fault INVALID_REQUEST for the result of a call that was not made */
  #result(block: Block, path: string): void {
    const { content = "", cache_control: mark } = block;
    if (!this.#calls.has(block.tool_use_id)) {
      throw invalid(`${path}.tool_use_id`, "no tool_use in the messages before has this id");
    }
    const blocks = content as string | readonly Block[] | null;
    if (Array.isArray(blocks)) this.#noteFound(blocks as readonly Block[]);
    const isPlain = typeof blocks === "string" && (!mark || blocks === "");
    const parts = isPlain ? [] : this.#resultParts(blocks, mark, path);
    const item = {
      type: "function_call_output",
      call_id: block.tool_use_id,
      // A mark needs a part; text without one stays text.
      output: isPlain ? blocks : parts.length === 0 ? "" : bareParts(parts),
      ...(block.is_error === true && { status: "incomplete" }),
    };
    this.#add(item, path, parts);
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
    for (const { type, tool_name: name } of blocks) if (type === "tool_reference") this.found.add(name as string);
  }

  #answer(content: string | readonly Block[], message: number, path: string): void {
    const at = `messages.${message}`;
    if (typeof content === "string") {
      return this.#say("assistant", [{ part: saidText({ type: "text", text: content }), path }], at);
    }
    let said: PlacedPart[] = [];
    for (const [index, block] of content.entries()) {
      const place = `${path}.${index}`;
      if (block.cache_control && block.type !== "text" && block.type !== "tool_use")
        this.#onUnsent(`${place}.cache_control`);
      if (isServerResult(block)) continue;
      const item = block.type === "text" ? undefined : this.#called(block, content, message, index);
      if (item === undefined) {
        said.push({ part: this.#saidPart(block, content, place), path: place });
        continue;
      }
      this.#say("assistant", said, at);
      said = [];
      this.#add(item, place);
    }
    this.#say("assistant", said, at);
  }

  /** Citations of web pages stay with their text; those of documents have no counterpart. */
  #saidPart(block: Block, blocks: readonly Block[], path: string): InputPart {
    if (block.type !== "text") return saidText({ type: "text", text: describeCall(block, resultOf(block, blocks)) });
    const { citations } = block;
    if (Array.isArray(citations) && citations.some((citation) => !isWebCitation(citation as JsonObject)))
      this.#onUnsent(`${path}.citations`);
    return saidText(block);
  }

  #called(block: Block, blocks: readonly Block[], message: number, index: number): JsonObject | undefined {
    switch (block.type) {
      case "thinking":
        return toReasoningItem(block.thinking ?? "", block.signature ?? "");
      case "redacted_thinking":
        return toRedactedItem(block.data ?? "");
      case "tool_use":
        this.#calls.add(block.id);
        this.#inputs ??= new WrittenInputs(this.#body, this.#span);
        return {
          type: "function_call",
          call_id: block.id,
          name: block.name,
          arguments: this.#inputs.at(message, index),
          ...(block.cache_control && { cache_control: block.cache_control }),
        };
      default: {
        const result = resultOf(block, blocks);
        if (result?.type === "tool_search_tool_result") this.#noteSearch(result.content);
        return isServerCall(block) ? toServerItem(block, result) : undefined;
      }
    }
  }

  #noteSearch(content: unknown): void {
    const references = (content as { readonly tool_references?: unknown } | null)?.tool_references;
    if (Array.isArray(references)) this.#noteFound(references as readonly Block[]);
  }
}

const resultOf = ({ id }: Block, blocks: readonly Block[]): Block | undefined =>
  blocks.find((block) => isServerResult(block) && block.tool_use_id === id);

const bareParts = (placed: readonly PlacedPart[]): readonly InputPart[] => placed.map(({ part }) => part);

const isWebCitation = ({ type, url }: JsonObject): boolean =>
  type === "web_search_result_location" && typeof url === "string";

function saidText({ text = "", citations, cache_control: mark }: Block): InputPart {
  const cited = Array.isArray(citations) ? (citations as readonly JsonObject[]) : [];
  const annotations = cited.filter(isWebCitation).map(({ url, title }) => ({
    type: "url_citation",
    url,
    title: typeof title === "string" ? title : "",
    start_index: 0,
    end_index: codePointLength(text),
  }));
  return { type: "output_text", text, annotations, ...(mark && { cache_control: mark }) };
}
