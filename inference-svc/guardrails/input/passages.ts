/** Every text of a request that a model will read, in the stretches in which it reads them. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { rewritten } from "../../turn/parse-tools.ts";
import { isParsed } from "../../files/parsed.ts";
import { rewrite } from "../../files/texts.ts";
import type { Pauses } from "../../turn/breath.ts";
import type { FileText } from "../../turn/file-text.ts";
import { isMedia, mediaIn } from "../bytes.ts";
import { isJson } from "../json-form.ts";
import type { Reading, Rule } from "../policy.ts";
import { tokensOf } from "../json-tokens.ts";
import { holdsJson, names, placesIn, shortestNumber } from "./places.ts";
import { type Changed, Field, JsonField, Name, Sealed, type Source } from "./source.ts";

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

type Passages = Generator<Passage | undefined, void>;

/** The texts of one request. What is redacted in them is written back in place: nothing keeps what was there before. */
export class RequestTexts {
  readonly #request: TurnRequest;
  readonly #changes = new Set<Changed>();
  readonly #tools = new Map<number, string>();
  /** Those of which something is redacted. */
  readonly #files = new Set<FileText>();
  #rest: Partial<TurnRequest> = {};

  constructor(request: TurnRequest) {
    this.#request = request;
  }

  /** Undefined where others may have their turn. */
  *passages(): Passages {
    const { instructions, input, tools } = this.#request;
    if (instructions !== undefined) {
      yield single(this.#field(instructions, (text) => this.#set({ instructions: text })));
    }
    for (const item of input) yield* this.#ofItem(item);
    for (const [index, tool] of tools.entries()) {
      yield* ofDefinition(this.#json(tool.json, (json) => this.#tools.set(index, json)));
    }
    yield* this.#ofFormat();
    yield* this.#ofRules();
    for (const text of referred(this.#request)) yield single(new Name(text));
    yield* this.#ofSettings();
  }

  /** The model is told them, and a judge. */
  *#ofRules(): Passages {
    for (const [index, rule] of (this.#request.plugins?.alignment?.rules ?? []).entries()) {
      yield single(this.#field(rule, (text) => this.#setRule(index, text)));
    }
  }

  *#ofFormat(): Passages {
    const { textFormat } = this.#request;
    if (textFormat?.type !== "json_schema") return;
    yield single(new Name(textFormat.name));
    if (textFormat.description !== undefined) {
      yield single(this.#field(textFormat.description, (description) => this.#setFormat({ description })));
    }
    yield* ofDefinition(this.#json(textFormat.schemaJson, (schemaJson) => this.#setFormat({ schemaJson })));
  }

  /** No model reads them, but they are sent. */
  *#ofSettings(): Passages {
    const { imageConfigJson: image, promptCacheKey: key, promptCacheOptionsJson: options } = this.#request;
    if (image !== undefined) yield* ofData(this.#json(image, (json) => this.#set({ imageConfigJson: json })));
    if (options !== undefined)
      yield* ofData(this.#json(options, (json) => this.#set({ promptCacheOptionsJson: json })));
    if (key !== undefined) yield single(this.#field(key, (text) => this.#set({ promptCacheKey: text })));
  }

  /** The request without what was redacted; the same one when that is nothing. */
  *redacted(): Pauses<TurnRequest> {
    if (this.#changes.size === 0) return this.#request;
    for (const changed of this.#changes) yield* changed.write();
    for (const file of this.#files) yield* rewrite(file);
    const tools = this.#request.tools.map((tool, index) => {
      const json = this.#tools.get(index);
      return json === undefined ? tool : rewritten(tool, json);
    });
    return { ...this.#request, ...this.#rest, tools };
  }

  #set(fields: Partial<TurnRequest>): void {
    this.#rest = { ...this.#rest, ...fields };
  }

  #setRule(index: number, text: string): void {
    const plugins = this.#rest.plugins ?? this.#request.plugins;
    if (!plugins?.alignment) return;
    const { alignment } = plugins;
    this.#set({ plugins: { ...plugins, alignment: { ...alignment, rules: alignment.rules.with(index, text) } } });
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

  *#ofItem(item: InputItem): Passages {
    const byUser = item.type === "message" && item["role"] === "user";
    const parts = new Map<unknown, Source>();
    const media = mediaIn(item);
    for (const place of placesIn(item)) {
      const { holder, key, text } = place;
      if (media.get(holder) === key && (yield* isMedia(text, key !== "data"))) continue;
      const put = (changed: string) => void (holder[key] = changed);
      if (place.isName) yield single(new Name(text), byUser);
      else if (yield* holdsJson(key, text)) yield* ofData(this.#json(text, put), byUser);
      else {
        const source = this.#field(text, put);
        if (key === "text") parts.set(holder, source);
        yield single(source, byUser);
      }
    }
    yield* joined(item["content"], parts, byUser);
    yield* joined(item["output"], parts, byUser);
    for (const part of [item["content"], item["output"]].flat()) {
      const file = this.#request.files?.get(part);
      if (file) yield* this.#ofFile(file, byUser);
    }
  }

  /** What cannot be written back into the file, nor told in its place, cannot be redacted. */
  *#ofFile(file: FileText, byUser: boolean): Passages {
    const { text } = file;
    const put = (changed: string) => {
      file.text = changed;
      this.#files.add(file);
    };
    const { kind } = file.reading;
    if (kind === "pdf" && !isParsed(file.file, this.#request)) yield single(new Sealed(text), byUser);
    else if (kind === "text" && /^\s*[[{]/.test(text) && (yield* isJson(text)))
      yield* ofData(this.#json(text, put), byUser);
    else yield single(this.#field(text, put), byUser);
  }
}

/** What settings say of tools, and of where to search: providers and search engines are told, and nothing else could stand there. */
function* referred({ toolChoice, plugins }: TurnRequest): Iterable<string> {
  const { web, fusion } = plugins ?? {};
  const chosen =
    typeof toolChoice !== "object" ? [] : toolChoice.type === "tool" ? [toolChoice.tool] : toolChoice.tools;
  const panel =
    fusion && fusion.toolsJson.length > 0 ? (JSON.parse(Buffer.from(fusion.toolsJson).toString()) as InputItem[]) : [];
  for (const tool of [...chosen, ...panel]) for (const { text } of placesIn(tool)) yield text;
  if (web === undefined) return;
  yield* [...web.includeDomains, ...web.excludeDomains];
  const { city = "", country = "", region = "", timezone = "" } = web.userLocation ?? {};
  yield* [city, country, region, timezone];
}

const single = (source: Source, byUser = false): Passage => ({ sources: [source], byUser });

/** The parts of one message in a row: a model reads over the seam. */
function* joined(content: unknown, parts: ReadonlyMap<unknown, Source>, byUser: boolean): Passages {
  if (!Array.isArray(content)) return;
  const sources = content.flatMap((part) => parts.get(part) ?? []);
  if (sources.length > 1) yield { sources, byUser };
}

/** What a tool is called with, or gives back: its words, and all of it in a row. */
function* ofData(json: JsonField, byUser = false): Passages {
  const before = new Set<Rule>();
  for (const token of tokensOf(json.text)) {
    if (token === undefined) yield undefined;
    else if (token.kind !== "scalar") yield { sources: [yield* json.word(token)], byUser, before };
  }
  yield { sources: [json], byUser, before, repeats: true };
}

/** What a tool or an answer shall be like: names in it are referred to. */
function* ofDefinition(json: JsonField): Passages {
  let named = false;
  for (const token of tokensOf(json.text)) {
    if (token === undefined) {
      yield undefined;
      continue;
    }
    const source = yield* json.word(token);
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

/** Whether a rule that reads so reads it; a rule that says nothing of it reads everything. */
export function isRead({ sources, before, repeats = false }: Passage, reading: Reading | undefined): boolean {
  if (reading === undefined) return true;
  const isWord = before !== undefined && !repeats;
  return !(reading === "words" ? repeats : isWord) && !sources.every((source) => source instanceof Name);
}

/** Where stretches of a passage are in its sources, as long as they are asked for from left to right. */
export class Seams {
  readonly #sources: readonly Source[];
  #index = 0;
  /** Where the source at the index begins. */
  #at = 0;

  constructor({ sources }: Passage) {
    this.#sources = sources;
  }

  partsOf({ start, end }: Span): readonly (readonly [Source, Span])[] {
    for (let source = this.#sources[this.#index]; source && this.#at + source.text.length <= start; ) {
      this.#at += source.text.length;
      source = this.#sources[++this.#index];
    }
    const parts: (readonly [Source, Span])[] = [];
    let at = this.#at;
    for (let index = this.#index; at < end; index++) {
      const source = this.#sources[index] as Source;
      const from = Math.max(start - at, 0);
      const to = Math.min(end - at, source.text.length);
      if (from < to) parts.push([source, { start: from, end: to }]);
      at += source.text.length;
    }
    return parts;
  }
}
