/** Where the text of a block comes from, as an annotation of the part. */
import { type JsonObject, text } from "../json.ts";

/**
 * @param start first character of the block within the part
 * @param end the one after its last
 * @returns undefined for citations of documents, which nobody asks for
 */
export function citationOf(citation: JsonObject, start: number, end: number): JsonObject | undefined {
  if (citation.type !== "web_search_result_location") return undefined;
  const content = text(citation.cited_text);
  return {
    type: "url_citation",
    url: text(citation.url),
    title: text(citation.title),
    start_index: start,
    end_index: end,
    ...(content !== "" && { content }),
  };
}
