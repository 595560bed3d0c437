/**
 * What a search of the provider found, and which words of the answer stand on it. The metadata come with the last chunks, and count in
 * bytes of UTF-8 (https://ai.google.dev/api/generate-content#Segment).
 */
import { newId } from "@sluice/proto/runtime/id.js";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { Output } from "../output.ts";

export class Grounding {
  #metadata: JsonObject = {};

  /** @param value of a chunk: what it does not say has been said before, or will be */
  read(value: unknown): void {
    if (!isObject(value)) return;
    const said = Object.entries(value).filter(([, list]) => Array.isArray(list) && list.length > 0);
    this.#metadata = { ...this.#metadata, ...Object.fromEntries(said) };
  }

  get queries(): readonly string[] {
    const { webSearchQueries: queries } = this.#metadata;
    return Array.isArray(queries) ? queries.map(text).filter((query) => query !== "") : [];
  }

  /** @param said the text that the metadata speak of */
  annotations(said: string): readonly JsonObject[] {
    const chunks = Array.isArray(this.#metadata.groundingChunks) ? (this.#metadata.groundingChunks as unknown[]) : [];
    return objects(this.#metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices: indices }) => {
      const place = placeOf(isObject(segment) ? segment : {}, said);
      return (Array.isArray(indices) ? indices : []).flatMap((index) => {
        const source = sourceOf(chunks[Number(index)]);
        return source ? [{ type: "url_citation", ...source, ...place }] : [];
      });
    });
  }

  /** @param sources whether the client wants to know what was found */
  write(output: Output, sources: boolean): void {
    const [query] = this.queries;
    if (query === undefined) return;
    const index = output.count;
    const writer = output.other({ type: "web_search_call", id: newId("ws_"), status: "in_progress" });
    for (const step of ["in_progress", "searching", "completed"]) {
      output.native(`response.web_search_call.${step}`, {}, index);
    }
    const found = objects(this.#metadata.groundingChunks).flatMap((chunk) => sourceOf(chunk) ?? []);
    const action = {
      type: "search",
      query,
      queries: this.queries,
      ...(sources && { sources: found.map(({ url }) => ({ type: "url", url })) }),
    };
    writer.end("completed", { status: "completed", action });
  }
}

function sourceOf(chunk: unknown): { readonly url: string; readonly title: string } | undefined {
  const web = isObject(chunk) && isObject(chunk.web) ? chunk.web : {};
  const url = text(web.uri);
  return url === "" ? undefined : { url, title: text(web.title) };
}

const characters = (words: string): number => Array.from(words).length;

/** In characters of Unicode. Where the provider has counted otherwise its words decide; the whole text when they are nowhere in it. */
function placeOf(segment: JsonObject, said: string): JsonObject {
  const bytes = Buffer.from(said);
  const words = text(segment.text);
  const [start, end] = [Number(segment.startIndex ?? 0), Number(segment.endIndex ?? bytes.length)];
  const there = bytes.toString("utf8", start, end);
  if (words === "" || there === words) {
    const before = characters(bytes.toString("utf8", 0, start));
    return { start_index: before, end_index: before + characters(there) };
  }
  const at = said.indexOf(words);
  if (at === -1) return { start_index: 0, end_index: characters(said) };
  const before = characters(said.slice(0, at));
  return { start_index: before, end_index: before + characters(words) };
}
