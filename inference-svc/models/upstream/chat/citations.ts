/** Citations of vendors with their own web search, which send a list of sources next to the choices: Perplexity and xAI. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { type JsonObject, objects, text } from "../json.ts";

interface Source {
  readonly url: string;
  readonly title: string;
}

/** Matches references in the text: the number of the source in brackets, from 1. */
const marks = /\[(\d{1,3})\]/g;

const none: readonly never[] = [];

export class Citations {
  #sources: readonly Source[] = none;

  /** Notes the sources of a chunk: each chunk repeats the whole list, so the last one counts. */
  read({ citations, search_results }: JsonObject): void {
    const results = objects(search_results).map(({ url, title }) => ({ url: text(url), title: text(title) }));
    if (results.length > 0) this.#sources = results;
    else if (Array.isArray(citations) && citations.length > 0)
      this.#sources = citations.map((url) => ({ url: text(url), title: "" }));
  }

  /**
   * The citations: each reference cites its source. A text without references cites all sources as a whole.
   * @param answer the whole text of the answer
   */
  annotations(answer: string): readonly JsonObject[] {
    if (this.#sources.length === 0) return none;
    const known = this.#sources.filter(({ url }) => url !== "");
    if (known.length === 0) return none;
    const cited: JsonObject[] = [];
    let start_index = 0;
    let counted = 0;
    for (const { index, 0: mark, 1: number } of answer.matchAll(marks)) {
      start_index += codePointLength(answer.slice(counted, index));
      counted = index;
      const source = this.#sources[Number(number) - 1];
      if (source === undefined || source.url === "") continue;
      cited.push({ type: "url_citation", ...source, start_index, end_index: start_index + mark.length });
    }
    if (cited.length > 0) return cited;
    const end_index = codePointLength(answer);
    return known.map((source) => ({ type: "url_citation", ...source, start_index: 0, end_index }));
  }
}
