/** Collects every text of a request a model, provider or search engine reads, divided as the reader gets it. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { PluginTexts } from "../../../turn/feature.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { parseRedactedTool } from "../../../turn/parse/tools.ts";
import { breakSeals } from "../../../turn/parse/broken-seals.ts";
import { copySharedItems } from "../../../turn/parse/shared-items.ts";
import { splitCredentials } from "./tool-credentials.ts";
import { parseDataUrl } from "../../../content/files/data-url.ts";
import { isParsed } from "../../../content/files/parsing.ts";
import { replaceWithRedacted } from "../../../content/files/texts.ts";
import type { Yielding } from "../../../turn/time-slice.ts";
import type { FileText } from "../../../turn/file-text.ts";
import { isMedia, findMediaFields } from "../../../content/media-bytes.ts";
import { isJson } from "../../../content/is-json.ts";
import type { ReadMode, FilterRule } from "../filter-rules.ts";
import { tokenizeJson } from "../json-tokens.ts";
import { holdsJson, identifierFields, findTextPositions, minNumberLength } from "../../../content/text-places.ts";
import {
  type PendingChange,
  TextField,
  JsonField,
  UnsentFileText,
  Identifier,
  Unredactable,
  type TextSource,
} from "./text-sources.ts";

/** Sources read together as one text. */
export interface ScanUnit {
  readonly sources: readonly TextSource[];
  /** Whether the text is a message of the role user. */
  readonly byUser: boolean;
  /** Rules that matched in earlier units of the same text; the matches in this unit are added. */
  readonly foundBefore?: Set<FilterRule>;
  /** Whether earlier units contained the same text: rules in `foundBefore` are then not counted again. */
  readonly isRepeat?: boolean;
}

type ScanUnits = Generator<ScanUnit | undefined, void>;

/** The texts of one request. Redacted texts are written into the request, so no copy of the original text remains. */
export class RequestTexts {
  readonly #given: TurnRequest;
  /** The request, with mutable items. */
  readonly #request: TurnRequest;
  readonly #pluginTexts: readonly PluginTexts[];
  readonly #changes = new Set<PendingChange>();
  readonly #tools = new Map<number, string>();
  /** Files of which a text is redacted. */
  readonly #files = new Set<FileText>();
  #changedFields: Partial<TurnRequest> = {};

  constructor(request: TurnRequest, pluginTexts: readonly PluginTexts[]) {
    this.#given = request;
    const input = copySharedItems(request.input);
    this.#request = input === request.input ? request : { ...request, input };
    this.#pluginTexts = pluginTexts;
  }

  /** All units to scan. Yields undefined where the caller may pause. */
  *scanUnits(): ScanUnits {
    const { instructions, input, tools } = this.#request;
    if (instructions !== undefined) {
      yield buildUnit(this.#field(instructions, (text) => this.#set({ instructions: text })));
    }
    for (const [index, item] of input.entries()) yield* this.#unitsOfItem(item, index);
    for (const [index, tool] of tools.entries()) {
      const { shown, join } = splitCredentials(tool);
      yield* unitsOfDefinition(this.#json(shown, (json) => this.#tools.set(index, join(json))));
    }
    yield* this.#unitsOfFormat();
    yield* this.#unitsOfPlugins();
    for (const text of findChosenTools(this.#request)) yield buildUnit(new Identifier(text));
    yield* this.#unitsOfSettings();
  }

  /** Units of the texts in plugin settings, as the plugins declare them: models, providers or search engines receive them. */
  *#unitsOfPlugins(): ScanUnits {
    const { plugins } = this.#request;
    if (plugins === undefined) return;
    for (const textsIn of this.#pluginTexts) {
      for (const { text, replace } of textsIn(plugins)) {
        const put = (redacted: string) =>
          this.#set({ plugins: replace?.(this.#changedFields.plugins ?? plugins, redacted) ?? plugins });
        yield buildUnit(replace ? this.#field(text, put) : new Identifier(text));
      }
    }
  }

  *#unitsOfFormat(): ScanUnits {
    const { textFormat } = this.#request;
    if (textFormat?.type !== "json_schema") return;
    yield buildUnit(new Identifier(textFormat.name));
    if (textFormat.description !== undefined) {
      yield buildUnit(this.#field(textFormat.description, (description) => this.#setFormat({ description })));
    }
    yield* unitsOfDefinition(this.#json(textFormat.schemaJson, (schemaJson) => this.#setFormat({ schemaJson })));
  }

  /** Units of settings that no model reads, but that providers receive. */
  *#unitsOfSettings(): ScanUnits {
    const { stop, predictionJson: prediction, contextManagementJson: edits, anthropicBetas = [] } = this.#request;
    for (const [index, text] of (stop ?? []).entries()) {
      yield buildUnit(this.#field(text, (changed) => this.#setStop(index, changed)));
    }
    if (prediction !== undefined)
      yield* unitsOfData(this.#json(prediction, (json) => this.#set({ predictionJson: json })));
    if (edits !== undefined)
      yield* unitsOfData(this.#json(edits, (json) => this.#set({ contextManagementJson: json })));
    for (const name of anthropicBetas) yield buildUnit(new Identifier(name));
    const inputType = this.#request.embedding?.inputType;
    if (inputType !== undefined) yield buildUnit(new Identifier(inputType));
    const { imageConfigJson: image, promptCacheKey: key, promptCacheOptionsJson: options } = this.#request;
    if (image !== undefined) yield* unitsOfData(this.#json(image, (json) => this.#set({ imageConfigJson: json })));
    if (options !== undefined)
      yield* unitsOfData(this.#json(options, (json) => this.#set({ promptCacheOptionsJson: json })));
    for (const [name, json] of Object.entries(this.#request.extraFields ?? {}))
      yield* unitsOfData(this.#json(json, (changed) => this.#setExtra(name, changed)));
    if (key !== undefined) yield buildUnit(this.#field(key, (text) => this.#set({ promptCacheKey: text })));
  }

  /** The redacted request; the same object when nothing was redacted. */
  *redacted(): Yielding<TurnRequest> {
    if (this.#changes.size === 0) return this.#given;
    for (const changed of this.#changes) yield* changed.write();
    for (const file of this.#files) yield* replaceWithRedacted(file);
    const tools = this.#request.tools.map((tool, index) => {
      const json = this.#tools.get(index);
      return json === undefined ? tool : parseRedactedTool(tool, json);
    });
    return { ...this.#request, ...this.#changedFields, tools };
  }

  #set(fields: Partial<TurnRequest>): void {
    this.#changedFields = { ...this.#changedFields, ...fields };
  }

  #setStop(index: number, text: string): void {
    const stop = this.#changedFields.stop ?? this.#request.stop ?? [];
    this.#set({ stop: stop.map((each, place) => (place === index ? text : each)) });
  }

  #setExtra(name: string, json: string): void {
    this.#set({ extraFields: { ...this.#request.extraFields, ...this.#changedFields.extraFields, [name]: json } });
  }

  #setFormat(fields: { readonly description?: string; readonly schemaJson?: string }): void {
    const format = this.#changedFields.textFormat ?? this.#request.textFormat;
    if (format?.type === "json_schema") this.#set({ textFormat: { ...format, ...fields } });
  }

  #field(text: string, put: (text: string) => void): TextField {
    return new TextField(text, put, this.#changes);
  }

  #json(text: string, put: (text: string) => void): JsonField {
    return new JsonField(text, put, this.#changes);
  }

  *#unitsOfItem(item: InputItem, index: number): ScanUnits {
    const byUser = item.type === "message" && item["role"] === "user";
    const parts = new Map<unknown, TextSource>();
    const media = findMediaFields(item);
    for (const place of findTextPositions(item)) {
      const { holder, key, text } = place;
      if (media.get(holder) === key && (yield* isMedia(text, key !== "data"))) continue;
      const put = (changed: string) => {
        holder[key] = changed;
        breakSeals(this.#request.input, index);
      };
      if (place.isIdentifier) yield buildUnit(new Identifier(text), byUser);
      else if (yield* holdsJson(key, text)) yield* unitsOfData(this.#json(text, put), byUser);
      else {
        const source = this.#field(text, put);
        if (key === "text") parts.set(holder, source);
        yield buildUnit(source, byUser);
      }
    }
    yield* joinParts(item["content"], parts, byUser);
    yield* joinParts(item["output"], parts, byUser);
    for (const part of [item["content"], item["output"]].flat()) {
      const type = findOddType(part);
      if (type !== undefined) yield buildUnit(new Unredactable(type), byUser);
      const file = this.#request.files?.get(part);
      if (file) yield* this.#unitsOfFile(file, byUser);
    }
  }

  /** Units of a file's text. A PDF forwarded unchanged cannot be redacted. */
  *#unitsOfFile(file: FileText, byUser: boolean): ScanUnits {
    const { text } = file;
    const put = (changed: string) => {
      file.text = changed;
      this.#files.add(file);
    };
    const { kind } = file.reading;
    const isParsedDocument = kind !== "text" && isParsed(file.file, this.#request);
    if (kind !== "text" && !isParsedDocument) yield buildUnit(new Unredactable(text), byUser);
    else if (kind === "text" && /^\s*[[{]/.test(text) && (yield* isJson(text)))
      yield* unitsOfData(this.#json(text, put), byUser);
    else yield buildUnit(this.#field(text, put), byUser);
    // The redacted text replaces the document: nothing else of the document is sent.
    const drop = () => {
      file.dropUnsentTexts();
      this.#files.add(file);
    };
    for (const other of file.beside)
      yield buildUnit(isParsedDocument ? this.#field(other, drop) : new UnsentFileText(other, text), byUser);
  }
}

/** Matches media types that contain no words of a client. */
const ordinaryType =
  /^(?:|(?:text|image|audio|video|font)\/[a-z\d]{1,5}|text\/(?:x-)?markdown|application\/(?:pdf|json|xml|zip|gzip|octet-stream|(?:x-)?yaml|epub\+zip|msword|vnd\.ms-(?:excel|powerpoint)|vnd\.openxmlformats-officedocument\.(?:wordprocessingml\.document|spreadsheetml\.sheet|presentationml\.presentation)))$/;

/** The media type in a file's data URL, if it could be a text of the client; else undefined. */
function findOddType(part: unknown): string | undefined {
  const data = (part as { readonly file_data?: unknown } | null | undefined)?.file_data;
  const type = typeof data === "string" ? parseDataUrl(data)?.type : undefined;
  return type === undefined || ordinaryType.test(type) ? undefined : type;
}

/** The names in a tool choice. They refer to tools, so they cannot be replaced. */
function* findChosenTools({ toolChoice }: TurnRequest): Iterable<string> {
  if (typeof toolChoice !== "object") return;
  const chosen = toolChoice.type === "tool" ? [toolChoice.tool] : toolChoice.tools;
  for (const tool of chosen) for (const { text } of findTextPositions(tool)) yield text;
}

const buildUnit = (source: TextSource, byUser = false): ScanUnit => ({ sources: [source], byUser });

/** Joins the text parts of one message to one unit, since a model reads across their boundaries. */
function* joinParts(content: unknown, parts: ReadonlyMap<unknown, TextSource>, byUser: boolean): ScanUnits {
  if (!Array.isArray(content)) return;
  const sources = content.flatMap((part) => parts.get(part) ?? []);
  if (sources.length > 1) yield { sources, byUser };
}

/** Units of a tool's JSON arguments or results: each string, then all of the JSON as one text. */
function* unitsOfData(json: JsonField, byUser = false): ScanUnits {
  const before = new Set<FilterRule>();
  for (const token of tokenizeJson(json.text)) {
    if (token === undefined) yield undefined;
    else if (token.kind !== "scalar") yield { sources: [yield* json.word(token)], byUser, foundBefore: before };
  }
  yield { sources: [json], byUser, foundBefore: before, isRepeat: true };
}

/**
 * Units of the definition of a tool or of the answer's format. Member names in it are identifiers: they are scanned,
 * but cannot be redacted, because calls refer to them.
 */
function* unitsOfDefinition(json: JsonField): ScanUnits {
  let named = false;
  for (const token of tokenizeJson(json.text)) {
    if (token === undefined) {
      yield undefined;
      continue;
    }
    const source = yield* json.word(token);
    if (token.kind === "name") {
      named = identifierFields.has(source.text);
      yield buildUnit(new Identifier(source.text));
      continue;
    }
    if (token.kind === "string") yield buildUnit(named ? new Identifier(source.text) : source);
    else if (token.end - token.start >= minNumberLength) yield buildUnit(source);
    named = false;
  }
}

/** Whether a rule with this read mode reads the unit; a rule without a mode reads every unit. */
export function isUnitReadBy(
  { sources, foundBefore: before, isRepeat: repeats = false }: ScanUnit,
  reading: ReadMode | undefined,
): boolean {
  if (reading === undefined) return true;
  const isWord = before !== undefined && !repeats;
  return !(reading === "words" ? repeats : isWord) && !sources.every((source) => source instanceof Identifier);
}

/** Maps spans of a unit to the sources of its text. Spans must be requested from left to right. */
export class UnitSources {
  readonly #sources: readonly TextSource[];
  #index = 0;
  /** Place where the source at `#index` starts. */
  #at = 0;

  constructor({ sources }: ScanUnit) {
    this.#sources = sources;
  }

  split({ start, end }: TextSpan): readonly (readonly [TextSource, TextSpan])[] {
    for (let source = this.#sources[this.#index]; source && this.#at + source.text.length <= start; ) {
      this.#at += source.text.length;
      source = this.#sources[++this.#index];
    }
    const parts: (readonly [TextSource, TextSpan])[] = [];
    let at = this.#at;
    for (let index = this.#index; at < end; index++) {
      const source = this.#sources[index] as TextSource;
      const from = Math.max(start - at, 0);
      const to = Math.min(end - at, source.text.length);
      if (from < to) parts.push([source, { start: from, end: to }]);
      at += source.text.length;
    }
    return parts;
  }
}
