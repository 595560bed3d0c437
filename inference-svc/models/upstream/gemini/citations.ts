/**
 * Google Search results of an answer, and their citations. This metadata arrives with the last chunks, with offsets in
 * bytes of UTF-8 (https://ai.google.dev/api/generate-content#Segment).
 */
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
    return objects(this.#metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
      const place = findPlace(isObject(segment) ? segment : {}, answer);
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

const characters = (quote: string): number => Array.from(quote).length;

/**
 * The cited place as offsets in code points. Where the provider's offsets do not match, the cited text is searched; if
 * it is nowhere, the whole text is cited.
 */
function findPlace(segment: JsonObject, answer: string): JsonObject {
  const bytes = Buffer.from(answer);
  const quote = text(segment.text);
  const [start, end] = [Number(segment.startIndex ?? 0), Number(segment.endIndex ?? bytes.length)];
  const there = bytes.toString("utf8", start, end);
  if (quote === "" || there === quote) {
    const before = characters(bytes.toString("utf8", 0, start));
    return { start_index: before, end_index: before + characters(there) };
  }
  const at = answer.indexOf(quote);
  if (at === -1) return { start_index: 0, end_index: characters(answer) };
  const before = characters(answer.slice(0, at));
  return { start_index: before, end_index: before + characters(quote) };
}
