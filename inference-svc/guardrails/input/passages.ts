/** Every text of a request that a model will read, in the stretches in which it reads them. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { rewritten } from "../../turn/parse-tools.ts";
import type { Rule } from "../policy.ts";
import { tokensOf } from "../json-tokens.ts";
import { holdsJson, names, placesIn } from "./places.ts";
import { type Changed, Field, JsonField, Name, type Source } from "./source.ts";

/** Sources in a row. */
export interface Passage {
  readonly sources: readonly Source[];
  /** Whether a user says it. */
  readonly byUser: boolean;
  /** Rules that have found something in parts of the same text, which are passages before this one. */
  readonly before?: Set<Rule>;
  /** What is found is noted in `before`, and not counted where it has been. */
  readonly repeats?: boolean;
}

/** The texts of one request. What is redacted in them is written back in place: nothing keeps what was there before. */
export class RequestTexts {
  readonly #request: TurnRequest;
  readonly #changes = new Set<Changed>();
  readonly #tools = new Map<number, string>();
  #rest: Partial<TurnRequest> = {};

  constructor(request: TurnRequest) {
    this.#request = request;
  }

  *passages(): Iterable<Passage> {
    const { instructions, input, tools } = this.#request;
    if (instructions !== undefined) {
      yield single(this.#field(instructions, (text) => this.#set({ instructions: text })));
    }
    for (const item of input) yield* this.#ofItem(item);
    for (const [index, tool] of tools.entries()) {
      yield* ofDefinition(this.#json(tool.json, (json) => this.#tools.set(index, json)));
    }
    yield* this.#ofFormat();
    yield* this.#ofSettings();
  }

  *#ofFormat(): Iterable<Passage> {
    const { textFormat } = this.#request;
    if (textFormat?.type !== "json_schema") return;
    yield single(new Name(textFormat.name));
    if (textFormat.description !== undefined) {
      yield single(this.#field(textFormat.description, (description) => this.#setFormat({ description })));
    }
    yield* ofDefinition(this.#json(textFormat.schemaJson, (schemaJson) => this.#setFormat({ schemaJson })));
  }

  /** No model reads them, but they are sent. */
  *#ofSettings(): Iterable<Passage> {
    const { imageConfigJson: image, promptCacheKey: key, promptCacheOptionsJson: options } = this.#request;
    if (image !== undefined) yield* ofData(this.#json(image, (json) => this.#set({ imageConfigJson: json })));
    if (options !== undefined)
      yield* ofData(this.#json(options, (json) => this.#set({ promptCacheOptionsJson: json })));
    if (key !== undefined) yield single(this.#field(key, (text) => this.#set({ promptCacheKey: text })));
  }

  /** The request without what was redacted; the same one when that is nothing. */
  redacted(): TurnRequest {
    if (this.#changes.size === 0) return this.#request;
    for (const changed of this.#changes) changed.write();
    const tools = this.#request.tools.map((tool, index) => {
      const json = this.#tools.get(index);
      return json === undefined ? tool : rewritten(tool, json);
    });
    return { ...this.#request, ...this.#rest, tools };
  }

  #set(fields: Partial<TurnRequest>): void {
    this.#rest = { ...this.#rest, ...fields };
  }

  #setFormat(fields: { readonly description?: string; readonly schemaJson?: string }): void {
    const format = this.#rest.textFormat ?? this.#request.textFormat;
    if (format?.type === "json_schema") this.#set({ textFormat: { ...format, ...fields } });
  }

  #field(text: string, put: (text: string) => void): Field {
    return new Field(text, put, this.#changes);
  }

  #json(text: string, put: (text: string) => void): JsonField {
    return new JsonField(text, put, this.#changes);
  }

  *#ofItem(item: InputItem): Iterable<Passage> {
    const byUser = item.type === "message" && item["role"] === "user";
    const parts = new Map<unknown, Source>();
    for (const place of placesIn(item)) {
      const { holder, key, text } = place;
      const put = (changed: string) => void (holder[key] = changed);
      if (place.isName) yield single(new Name(text), byUser);
      else if (holdsJson(key, text)) yield* ofData(this.#json(text, put), byUser);
      else {
        const source = this.#field(text, put);
        if (key === "text") parts.set(holder, source);
        yield single(source, byUser);
      }
    }
    yield* joined(item["content"], parts, byUser);
    yield* joined(item["output"], parts, byUser);
  }
}

const single = (source: Source, byUser = false): Passage => ({ sources: [source], byUser });

/** The parts of one message in a row: a model reads over the seam. */
function* joined(content: unknown, parts: ReadonlyMap<unknown, Source>, byUser: boolean): Iterable<Passage> {
  if (!Array.isArray(content)) return;
  const sources = content.flatMap((part) => parts.get(part) ?? []);
  if (sources.length > 1) yield { sources, byUser };
}

/** What a tool is called with, or gives back: its words, and all of it in a row. */
function* ofData(json: JsonField, byUser = false): Iterable<Passage> {
  const before = new Set<Rule>();
  for (const token of tokensOf(json.text)) {
    if (token.kind !== "scalar") yield { sources: [json.word(token)], byUser, before };
  }
  yield { sources: [json], byUser, before, repeats: true };
}

/** A figure that could be a number of something. */
const shortestNumber = 6;

/** What a tool or an answer shall be like: names in it are referred to. */
function* ofDefinition(json: JsonField): Iterable<Passage> {
  let named = false;
  for (const token of tokensOf(json.text)) {
    const source = json.word(token);
    if (token.kind === "name") {
      named = names.has(source.text);
      yield single(new Name(source.text));
      continue;
    }
    if (token.kind === "string") yield single(named ? new Name(source.text) : source);
    else if (token.end - token.start >= shortestNumber) yield single(source);
    named = false;
  }
}

/** Where a stretch of a passage is in its sources. */
export function* partsOf({ sources }: Passage, { start, end }: Span): Iterable<readonly [Source, Span]> {
  let at = 0;
  for (const source of sources) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, source.text.length);
    if (from < to) yield [source, { start: from, end: to }];
    at += source.text.length;
    if (at >= end) return;
  }
}
