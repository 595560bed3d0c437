/** Converts content blocks of users and tool results to parts of the contract. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { toJsonString } from "../../edge/turns/json.ts";

export interface MediaSource {
  readonly type: string;
  readonly media_type?: string;
  readonly data?: string;
  readonly url?: string;
  readonly file_id?: string;
  readonly content?: string | readonly Block[];
}

/** A block with a checked shape. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly citations?: object | null;
  readonly cache_control?: JsonObject | null;
  readonly source?: MediaSource | string;
  readonly title?: string | null;
  readonly context?: string | null;
  readonly content?: unknown;
  readonly tool_use_id?: string;
  readonly tool_name?: string;
  readonly is_error?: boolean | null;
  readonly id?: string;
  readonly name?: string;
  readonly server_name?: string | null;
  readonly input?: unknown;
  readonly caller?: JsonObject | null;
  readonly thinking?: string;
  readonly signature?: string | null;
  readonly data?: string;
}

export type InputPart = { readonly type: string; readonly [field: string]: unknown };

/** A part as JSON. Most parts are bare text. */
export function partJson(part: InputPart): string {
  const isBare = part.type === "input_text" && Object.keys(part).length === 2;
  return isBare ? `{"type":"input_text","text":${toJsonString(part["text"] as string)}}` : JSON.stringify(part);
}

/** Records a field that reaches no provider, with the reason. */
export type OnFieldNotSent = (path: string, reason: string) => void;

/** @param path of the block, for notes */
export function toParts(block: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  const parts = unmarkedParts(block, path, onUnsent);
  const { cache_control: mark } = block;
  if (!mark) return parts;
  const last = parts.at(-1);
  if (!last) return parts;
  return [...parts.slice(0, -1), { ...last, cache_control: mark }];
}

const textPart = (text: string): InputPart => ({ type: "input_text", text });

function unmarkedParts(block: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  switch (block.type) {
    case "image":
      return [image(block.source as MediaSource)];
    case "document":
      return document(block, path, onUnsent);
    case "search_result":
      return searchResult(block, path, onUnsent);
    case "tool_reference":
      return [{ ...textPart(`Tool found: ${block.tool_name}`), tool_reference: block.tool_name }];
    default:
      return [{ ...textPart(block.text ?? ""), ...citationsOf(block) }];
  }
}

function image({ type, media_type: mediaType, data, url, file_id: fileId }: MediaSource): InputPart {
  if (type === "base64") return { type: "input_image", image_url: `data:${mediaType};base64,${data}` };
  return type === "url" ? { type: "input_image", image_url: url } : { type: "input_image", file_id: fileId };
}

function document(block: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  const { title, context, citations } = block;
  const source = block.source as MediaSource;
  const heads = context ? [textPart(`Context of the document: ${context}`)] : [];
  const about = {
    type: block.type,
    ...(title && { title }),
    ...(context && { context }),
    ...(citations && { citations }),
  };
  if (source.type !== "content") {
    const file = { type: "input_file", ...(title && { filename: title }), ...fileOf(source) };
    return context || citations ? grouped(heads, [file], about) : [file];
  }
  const { content = "" } = source;
  if (title) heads.push(textPart(`Document: ${title}`));
  const isText = typeof content === "string";
  const at = `${path}.source.content`;
  const parts = isText
    ? [textPart(content)]
    : content.flatMap((inner, index) =>
        toParts(uncited(inner, `${at}.${index}`, onUnsent), `${at}.${index}`, onUnsent),
      );
  return grouped(heads, parts, { ...about, source: { type: "content", is_text: isText } });
}

/**
 * Parts that are one block in Anthropic's format. The first of them describes the block.
 * @param heads parts that only other formats need
 * @param block its fields beside the members
 */
function grouped(heads: readonly InputPart[], members: readonly InputPart[], block: JsonObject): readonly InputPart[] {
  const [first, ...rest] = [...heads, ...members];
  if (!first) return [];
  return [{ ...first, anthropic_group: { heads: heads.length, members: members.length, block } }, ...rest];
}

function fileOf({ type, media_type: mediaType, data = "", url, file_id: fileId }: MediaSource): JsonObject {
  switch (type) {
    case "base64":
      return { file_data: `data:${mediaType};base64,${data}` };
    case "text":
      return { file_data: `data:text/plain;base64,${Buffer.from(data).toString("base64")}` };
    case "url":
      return { file_url: url };
    default:
      return { file_id: fileId };
  }
}

function searchResult(block: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  const { type, source, title, citations } = block;
  const texts = block.content as readonly Block[];
  for (const [index, { cache_control: mark }] of texts.entries()) {
    if (mark) onUnsent(`${path}.content.${index}.cache_control`, "only the whole result has a cache mark");
  }
  for (const [index, each] of texts.entries()) uncited(each, `${path}.content.${index}`, onUnsent);
  const members = texts.map((each) => textPart(each.text ?? ""));
  const about = { type, source, title, ...(citations && { citations }) };
  return grouped([textPart(`Search result: ${title} (${source as string})`)], members, about);
}

/** The block without citations: within a document or a search result only texts of the model have them. */
function uncited(block: Block, path: string, onUnsent: OnFieldNotSent): Block {
  const { citations, ...others } = block;
  if (!Array.isArray(citations) || citations.length === 0) return block;
  onUnsent(`${path}.citations`, "only texts of the model have citations");
  return others;
}

/** Citations of a text, for Anthropic; it refuses those that it has not made itself, which have an empty index. */
function citationsOf({ citations }: Block): { readonly anthropic_citations?: readonly JsonObject[] } {
  if (!Array.isArray(citations)) return {};
  const own = (citations as readonly JsonObject[]).filter((each) => each["encrypted_index"] !== "");
  return own.length === 0 ? {} : { anthropic_citations: own };
}

const isWebCitation = ({ type, url }: JsonObject): boolean =>
  type === "web_search_result_location" && typeof url === "string";

/** A text of an earlier answer. */
export function toAnswerText(block: Block): InputPart {
  const { text = "", citations, cache_control: mark } = block;
  const cited = Array.isArray(citations) ? (citations as readonly JsonObject[]) : [];
  const annotations = cited.filter(isWebCitation).map(({ url, title }) => ({
    type: "url_citation",
    url,
    title: typeof title === "string" ? title : "",
    start_index: 0,
    end_index: codePointLength(text),
  }));
  return { type: "output_text", text, annotations, ...citationsOf(block), ...(mark && { cache_control: mark }) };
}
