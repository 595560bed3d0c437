/** Converts content blocks of user messages and tool results to parts of input items. */
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

/** A content block after the check of its shape. */
export interface Block {
  readonly type: string;
  readonly text?: string;
  readonly citations?: unknown;
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
  readonly thinking?: string;
  readonly signature?: string | null;
  readonly data?: string;
}

export type InputPart = { readonly type: string; readonly [field: string]: unknown };

/** A part as JSON. Bare text, the most frequent part, is written without JSON.stringify. */
export function partJson(part: InputPart): string {
  const { type, text, cache_control: mark, tool_reference: found } = part;
  if (type !== "input_text" || mark !== undefined || found !== undefined) return JSON.stringify(part);
  return `{"type":"input_text","text":${toJsonString(text as string)}}`;
}

/** Called for a field that reaches no provider, with the reason. */
export type OnFieldNotSent = (path: string, reason: string) => void;

/** @param path path of the block, for reports of fields that reach no provider */
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
      noteCitations(block, path, onUnsent);
      return searchResult(block, path, onUnsent);
    case "tool_reference":
      return [{ ...textPart(`Tool found: ${block.tool_name}`), tool_reference: block.tool_name }];
    default:
      noteCited(block, path, onUnsent);
      return [textPart(block.text ?? "")];
  }
}

function image({ type, media_type: mediaType, data, url, file_id: fileId }: MediaSource): InputPart {
  if (type === "base64") return { type: "input_image", image_url: `data:${mediaType};base64,${data}` };
  return type === "url" ? { type: "input_image", image_url: url } : { type: "input_image", file_id: fileId };
}

function document(block: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  noteCitations(block, path, onUnsent);
  const { title, context } = block;
  const source = block.source as MediaSource;
  const about = context ? [textPart(`Context of the document: ${context}`)] : [];
  const named = title ? { filename: title } : {};
  if (source.type === "content") return [...about, ...toDocumentParts(source, title, path, onUnsent)];
  return [...about, { type: "input_file", ...named, ...fileOf(source) }];
}

function toDocumentParts(
  { content = "" }: MediaSource,
  title: string | null | undefined,
  path: string,
  onUnsent: OnFieldNotSent,
): readonly InputPart[] {
  const heading = title ? [textPart(`Document: ${title}`)] : [];
  if (typeof content === "string") return [...heading, textPart(content)];
  const at = `${path}.source.content`;
  return [...heading, ...content.flatMap((block, index) => toParts(block, `${at}.${index}`, onUnsent))];
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

function searchResult({ source, title, content }: Block, path: string, onUnsent: OnFieldNotSent): readonly InputPart[] {
  const blocks = content as readonly Block[];
  for (const [index, block] of blocks.entries()) {
    noteCited(block, `${path}.content.${index}`, onUnsent);
    if (block.cache_control)
      onUnsent(`${path}.content.${index}.cache_control`, "only the whole result has a cache mark");
  }
  return [textPart(`Search result: ${title} (${source as string})`), ...blocks.map(({ text }) => textPart(text ?? ""))];
}

/** Reports a request for citations of a document: answers cite only web pages. */
function noteCitations({ citations }: Block, path: string, onUnsent: OnFieldNotSent): void {
  if ((citations as { readonly enabled?: boolean } | null | undefined)?.enabled === true)
    onUnsent(`${path}.citations`, "answers cite only web pages");
}

/** Reports citations of a user's text: only texts of the model can have them. */
function noteCited({ citations }: Block, path: string, onUnsent: OnFieldNotSent): void {
  if (Array.isArray(citations) && citations.length > 0)
    onUnsent(`${path}.citations`, "only texts of the model have citations");
}

export const isWebCitation = ({ type, url }: JsonObject): boolean =>
  type === "web_search_result_location" && typeof url === "string";

/** A text of the assistant from the history. */
export function toAnswerText({ text = "", citations, cache_control: mark }: Block): InputPart {
  const cited = Array.isArray(citations) ? (citations as readonly JsonObject[]).filter(isWebCitation) : [];
  const end = cited.length > 0 ? codePointLength(text) : 0;
  const annotations = cited.map(({ url, title }) => ({
    type: "url_citation",
    url,
    title: typeof title === "string" ? title : "",
    start_index: 0,
    end_index: end,
  }));
  return { type: "output_text", text, annotations, ...(mark && { cache_control: mark }) };
}
