/** Citations: links of an answer to fetched pages, and names of found files, become annotations. The text of the answer stays unchanged. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import type { FoundFile, TurnRequest, WebSource } from "../../turn/request.ts";
import type { Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { batchLayer } from "../../turn/layer-builders.ts";
import { toCanonicalUrl } from "./search-engine.ts";

/** Matches a Markdown link or a bare URL; the URL may contain a pair of parentheses. */
const link =
  /\[[^[\]\n]{0,500}\]\((https?:\/\/(?:[^\s()]|\([^\s()]*\))+)\)|https?:\/\/(?:[^\s()<>[\]"'`]|\([^\s()]*\))+/giu;
/** Matches punctuation at the end of a sentence, which is not part of the link. */
const trailing = /[.,;:!?*_]+$/;

/** Matches a file name in square brackets that is no Markdown link. */
const fileMark = /\[([^[\]\n]{1,700})\](?!\()/gu;

interface Citation {
  readonly type: "url_citation";
  readonly url: string;
  readonly title: string;
  /** Index of the first code point of the citation; the index of its end is exclusive. */
  readonly start_index: number;
  readonly end_index: number;
}

interface FileCitation {
  readonly type: "file_citation";
  readonly file_id: string;
  readonly filename: string;
  /** Index of the first code point of the file's name. */
  readonly index: number;
}

export function fileCitationsIn(text: string, files: readonly FoundFile[]): readonly FileCitation[] {
  const known = new Map(files.map((file) => [file.label, file]));
  const found: FileCitation[] = [];
  let [units, points] = [0, 0];
  for (const { 1: label = "", index } of text.matchAll(fileMark)) {
    const file = known.get(label);
    if (file === undefined) continue;
    points += codePointLength(text.slice(units, index));
    units = index;
    found.push({ type: "file_citation", file_id: file.fileId, filename: file.filename, index: points });
  }
  return found;
}

/** Citations in a text. A citation of a Markdown link covers all of it. */
export function citationsIn(text: string, sources: readonly WebSource[]): readonly Citation[] {
  const known = new Map(sources.map((source) => [toCanonicalUrl(source.url), source]));
  const found: Citation[] = [];
  let [units, points] = [0, 0];
  for (const { 0: whole, 1: target, index } of text.matchAll(link)) {
    const address = target === undefined ? whole.replace(trailing, "") : whole;
    const source = known.get(toCanonicalUrl(target ?? address));
    if (source === undefined) continue;
    points += codePointLength(text.slice(units, index));
    units = index;
    const end = points + codePointLength(address);
    found.push({ type: "url_citation", url: source.url, title: source.title, start_index: points, end_index: end });
  }
  return found;
}

export const annotateCitations: Layer = (next) => {
  const cited = batchLayer((request) => (batch) => annotated(batch, request))(next);
  return (request, scope) => (request.sources || request.foundFiles ? cited : next)(request, scope);
};

type Cited = Pick<TurnRequest, "sources" | "foundFiles" | "stream">;

const annotated = (batch: Batch, request: Cited): Batch =>
  batch.some(isMessageEnd) ? batch.flatMap((event) => (isMessageEnd(event) ? ended(event, request) : [event])) : batch;

type Ended = Extract<TurnEvent, { readonly type: "item.end" }>;

const isMessageEnd = (event: TurnEvent): event is Ended => event.type === "item.end" && event.item.type === "message";

/** Adds annotations to an item. In a stream, each annotation is also sent as an event before the end of the item. */
function ended(event: Ended, { sources = [], foundFiles = [], stream }: Cited): readonly TurnEvent[] {
  const { index, item } = event;
  if (!Array.isArray(item["content"])) return [event];
  const added: TurnEvent[] = [];
  const content = item["content"].map((part: unknown, at) => {
    if (!isObject(part) || part["type"] !== "output_text" || typeof part["text"] !== "string") return part;
    const found = [...citationsIn(part["text"], sources), ...fileCitationsIn(part["text"], foundFiles)];
    added.push(...found.map((annotation): TurnEvent => ({ type: "annotation", index, part: at, annotation })));
    const before: readonly unknown[] = Array.isArray(part["annotations"]) ? part["annotations"] : [];
    return { ...part, annotations: [...before, ...found] };
  });
  return [...(stream ? added : []), { ...event, item: { ...item, content } }];
}
