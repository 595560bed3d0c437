/**
 * Google Search results of an answer, and their citations. This metadata arrives with the last chunks, with offsets in
 * bytes of UTF-8 (https://ai.google.dev/api/generate-content#Segment).
 */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { Output } from "../events/output.ts";

export class Grounding {
  #metadata: JsonObject = {};

  /** Notes the metadata of a chunk. @param value the metadata; lists it lacks stay as they were */
  read(value: unknown): void {
    if (!isObject(value)) return;
    const answer = Object.entries(value).filter(([, list]) => Array.isArray(list) && list.length > 0);
    this.#metadata = { ...this.#metadata, ...Object.fromEntries(answer) };
  }

  get queries(): readonly string[] {
    const { webSearchQueries: queries } = this.#metadata;
    return Array.isArray(queries) ? queries.map(text).filter((query) => query !== "") : [];
  }

  /** The annotations of the answer. @param answer the text to which the offsets refer */
  annotations(answer: string): readonly JsonObject[] {
    const chunks = Array.isArray(this.#metadata.groundingChunks) ? (this.#metadata.groundingChunks as unknown[]) : [];
    const places = new TextPlaces(answer);
    return objects(this.#metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
      const place = places.find(isObject(segment) ? segment : {});
      return (Array.isArray(indices) ? indices : []).flatMap((index) => {
        const source = parseSource(chunks[Number(index)]);
        return source ? [{ type: "url_citation", ...source, ...place }] : [];
      });
    });
  }

  /** Writes the search as an item. @param sources whether the client requested the sources */
  write(output: Output, sources: boolean): void {
    const [query] = this.queries;
    if (query === undefined) return;
    const index = output.count;
    const writer = output.other({ type: "web_search_call", id: newId("ws_"), status: "in_progress" });
    for (const step of ["in_progress", "searching", "completed"]) {
      output.native(`response.web_search_call.${step}`, {}, index);
    }
    const found = objects(this.#metadata.groundingChunks).flatMap((chunk) => parseSource(chunk) ?? []);
    const action = {
      type: "search",
      query,
      queries: this.queries,
      ...(sources && { sources: found.map(({ url }) => ({ type: "url", url })) }),
    };
    writer.end("completed", { status: "completed", action });
  }
}

function parseSource(chunk: unknown): { readonly url: string; readonly title: string } | undefined {
  const web = isObject(chunk) && isObject(chunk.web) ? chunk.web : {};
  const url = text(web.uri);
  return url === "" ? undefined : { url, title: text(web.title) };
}

/** Places of segments in a text. The time is linear for segments in the order of the text. */
class TextPlaces {
  readonly #answer: string;
  readonly #bytes: Buffer;
  /** The last place counted, in bytes and in code points. */
  #at = 0;
  #points = 0;

  constructor(answer: string) {
    this.#answer = answer;
    this.#bytes = Buffer.from(answer);
  }

  /**
   * Offsets in code points. Where the provider's offsets do not match, the cited text is searched; if it is nowhere, the whole text is cited.
   */
  find({ text: quoted, startIndex, endIndex }: JsonObject): JsonObject {
    const quote = text(quoted);
    const [start, end] = [Number(startIndex ?? 0), Number(endIndex ?? this.#bytes.length)];
    const there = this.#bytes.toString("utf8", start, end);
    if (quote === "" || there === quote) return this.#placeAt(start, there);
    const at = this.#answer.indexOf(quote);
    if (at === -1) return { start_index: 0, end_index: codePointLength(this.#answer) };
    return this.#placeAt(Buffer.byteLength(this.#answer.slice(0, at)), quote);
  }

  /** @param at in bytes; a provider may give any number */
  #placeAt(at: number, quote: string): JsonObject {
    if (!(at >= this.#at)) this.#at = this.#points = 0;
    this.#points += codePointLength(this.#bytes.toString("utf8", this.#at, at));
    this.#at = Math.max(0, Math.min(at, this.#bytes.length)) || 0;
    return { start_index: this.#points, end_index: this.#points + codePointLength(quote) };
  }
}
