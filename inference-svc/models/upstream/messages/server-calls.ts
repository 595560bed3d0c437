/** Converts calls the provider ran earlier in the conversation back to its blocks. */
import { isAnthropicSearch, searchInput } from "@sluice/proto/contract/tools/tool-search.js";
import { wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import type { InputItem } from "../../../turn/request.ts";
import { text } from "../json.ts";
import { type Block, textBlock } from "../translate/blocks/message-list.ts";
import type { TranslationContext } from "../translate/context.ts";
import { webFetchName } from "../translate/blocks/tools.ts";

/** @returns undefined for items of other kinds */
export function toServerBlocks(item: InputItem, path: string, names: TranslationContext): readonly Block[] | undefined {
  if (item.type === "service:web_fetch") return fetched(item);
  return item.type === "service:tool_search" && isAnthropicSearch(item.tool)
    ? searched(item, item.tool, path, names)
    : undefined;
}

const useId = ({ id }: InputItem): string => `srvtoolu_${wordId(text(id))}`;

function pair(item: InputItem, name: string, input: object, kind: string, content: object): readonly Block[] {
  const id = useId(item);
  return [
    { type: "server_tool_use", id, name, input },
    { type: `${kind}_tool_result`, tool_use_id: id, content },
  ];
}

function searched(
  item: InputItem,
  tool: string,
  path: string,
  { tools, onDropped }: TranslationContext,
): readonly Block[] {
  const { query, tool_references: found, error } = item;
  const sentName = (name: unknown, index: number): string =>
    tools.sentName(text(name), undefined, `${path}.tool_references.${index}`, onDropped);
  const references = Array.isArray(found)
    ? found.map((name: unknown, index) => ({ type: "tool_reference", tool_name: sentName(name, index) }))
    : [];
  const content =
    typeof error === "string"
      ? { type: "tool_search_tool_result_error", error_code: error }
      : { type: "tool_search_tool_search_result", tool_references: references };
  return pair(item, tool, searchInput(tool, query), "tool_search", content);
}

function fetched(item: InputItem): readonly Block[] {
  const url = text(item.url);
  const data = text(item.content);
  const source = { type: "text", media_type: "text/plain", data };
  const content = { type: "web_fetch_result", url, content: { type: "document", source, title: text(item.title) } };
  if (text(item.error) !== "")
    return pair(item, webFetchName, { url }, webFetchName, {
      type: "web_fetch_tool_result_error",
      error_code: "unavailable",
    });
  // A PDF was too large for the item, and the provider refuses a document without any text.
  return data.trim() === ""
    ? [textBlock(`[Web page read: ${url}.]`)]
    : pair(item, webFetchName, { url }, webFetchName, content);
}
