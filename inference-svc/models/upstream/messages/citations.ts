/** Converts citations of an Anthropic answer to annotations. */
import { type JsonObject, text } from "../json.ts";

/**
 * @param start offset of the block's first character in the part
 * @param end offset after its last character
 * @returns undefined for citations of documents, which Sluice never requests
 */
export function toAnnotation(citation: JsonObject, start: number, end: number): JsonObject | undefined {
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
