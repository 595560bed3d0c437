/** Where an answer comes from, with vendors that search by themselves and say so beside their choices: Perplexity and xAI. */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import { type JsonObject, objects, text } from "../json.ts";

interface Source {
  readonly url: string;
  readonly title: string;
}

/** What words refer to a source by: its number, from 1. */
const marks = /\[(\d{1,3})\]/g;

export class Sources {
  #sources: readonly Source[] = [];

  /** @param chunk says all that it knows again and again; the later ones count */
  read({ citations, search_results }: JsonObject): void {
    const results = objects(search_results).map(({ url, title }) => ({ url: text(url), title: text(title) }));
    if (results.length > 0) this.#sources = results;
    else if (Array.isArray(citations) && citations.length > 0)
      this.#sources = citations.map((url) => ({ url: text(url), title: "" }));
  }

  /** Each mark cites its source. Where the text has none, all of it stands on all of them. @param said the whole text */
  annotations(said: string): readonly JsonObject[] {
    const known = this.#sources.filter(({ url }) => url !== "");
    if (known.length === 0) return [];
    const cited: JsonObject[] = [];
    let start_index = 0;
    let counted = 0;
    for (const { index, 0: mark, 1: number } of said.matchAll(marks)) {
      start_index += codePointLength(said.slice(counted, index));
      counted = index;
      const source = this.#sources[Number(number) - 1];
      if (source === undefined || source.url === "") continue;
      cited.push({ type: "url_citation", ...source, start_index, end_index: start_index + mark.length });
    }
    if (cited.length > 0) return cited;
    const end_index = codePointLength(said);
    return known.map((source) => ({ type: "url_citation", ...source, start_index: 0, end_index }));
  }
}
