/** Converts citations of an answer to annotations. Only a source with a URL can be cited; documents and most tool outputs have none. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { GrowingLength } from "../events/growing-length.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

const none: readonly never[] = [];

export class CohereCitations {
  #citations: JsonObject[] = [];
  /** For each content block, the number of code points of the message in front of it; offsets of citations count from there. */
  readonly #starts = new Map<unknown, number>();
  /** Of the message so far. */
  #length = new GrowingLength();

  /** Notes a citation. Citations of reasoning and plans are left out, because annotations belong to answers. */
  read(citation: unknown): void {
    if (isObject(citation) && (citation.type ?? "TEXT_CONTENT") === "TEXT_CONTENT") this.#citations.push(citation);
  }

  begin(block: unknown): void {
    if (!this.#starts.has(block)) this.#starts.set(block, this.#length.points);
  }

  /** @param words added to the message */
  add(words: string): void {
    this.#length.add(words);
  }

  /** The annotations. @param answer the whole text of the message; another message may follow */
  take(answer: string): readonly JsonObject[] {
    const points = this.#citations.length > 0 ? Array.from(answer) : none;
    const annotations = this.#citations.flatMap((citation) => this.#annotations(citation, answer, points));
    this.#citations = [];
    this.#starts.clear();
    this.#length = new GrowingLength();
    return annotations;
  }

  #annotations(citation: JsonObject, answer: string, points: readonly string[]): readonly JsonObject[] {
    const sources = objects(citation.sources).flatMap((source) => parseSource(source) ?? none);
    if (sources.length === 0) return none;
    const place = this.#findPlace(citation, answer, points);
    return sources.map((source) => ({ type: "url_citation", ...source, ...place }));
  }

  /**
   * Offsets in code points. Where the provider's offsets do not match, the cited text is searched; if it is nowhere, the whole text is cited.
   * @param points the code points of the answer
   */
  #findPlace(citation: JsonObject, answer: string, points: readonly string[]): JsonObject {
    const before = this.#starts.get(citation.content_index) ?? 0;
    const quote = text(citation.text);
    const [from, to] = [before + Number(citation.start), before + Number(citation.end)];
    const there = points.slice(from, to).join("");
    if (quote !== "" && there === quote && from >= 0) return { start_index: from, end_index: to };
    const at = quote === "" ? -1 : answer.indexOf(quote);
    if (at === -1) return { start_index: 0, end_index: points.length };
    const start_index = codePointLength(answer.slice(0, at));
    return { start_index, end_index: start_index + codePointLength(quote) };
  }
}

function parseSource({ document, tool_output: output }: JsonObject): JsonObject | undefined {
  const source = isObject(document) ? document : isObject(output) ? output : {};
  const url = text(source.url);
  return /^https?:\/\//.test(url) ? { url, title: text(source.title) } : undefined;
}
