/** Parts that were one block in the client's words: documents with a context, with citations or made of blocks, and search results. */
import { type JsonObject, isObject, parseCount, text } from "../json.ts";
import type { BlockGroup } from "../translate/blocks/messages.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import type { TranslationContext } from "../translate/context.ts";
import { messagesPart } from "./parts.ts";

/** Undefined for a part that begins no block of several. */
export function takeGroup(
  parts: readonly JsonObject[],
  at: number,
  path: string,
  translation: TranslationContext,
): BlockGroup | undefined {
  const group = parts[at]?.anthropic_group;
  if (!isObject(group) || !isObject(group.block)) return undefined;
  const from = at + parseCount(group.heads);
  const end = from + parseCount(group.members);
  const members = parts.slice(from, end);
  const blocks = members.map((part, index) => messagesPart(part, `${path}.${from + index}`, translation));
  const block = end > parts.length ? undefined : joined(group.block, members, blocks);
  if (block) return { block, end };
  // A plugin has put the text of a file in its place.
  translation.onDropped(`${path}.${at}.citations`, "the document is sent as text");
  return undefined;
}

function joined(about: JsonObject, members: readonly JsonObject[], blocks: readonly Block[]): Block | undefined {
  const { source } = about;
  if (about.type === "search_result") return { ...about, type: "search_result", content: blocks };
  if (!isObject(source)) return members[0]?.type === "input_file" ? { ...about, ...(blocks[0] as Block) } : undefined;
  const content = source.is_text === true ? text(members[0]?.text) : blocks;
  return { ...about, type: "document", source: { type: "content", content } };
}
