/** Converts finished output items to content blocks. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { wordId } from "@sluice/proto/lib/ids/foreign-id.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { BlockJson } from "./block-json.ts";
import { serverBlocks } from "./server-blocks.ts";
import { type ThinkingBlock, toThinkingBlock } from "./thinking.ts";

/** @returns the blocks of an item, in order; none for an item without content */
export function toBlocks(item: JsonObject): readonly BlockJson[] {
  switch (item["type"]) {
    case "message":
      return partsOf(item).flatMap((part) => textBlocks(part));
    case "reasoning": {
      const block = toThinkingBlock(item);
      return block ? [{ json: thinkingJson(block) }] : [];
    }
    case "function_call":
    case "custom_tool_call":
      return [toolUse(item)];
    default:
      return serverBlocks(item);
  }
}

export const thinkingJson = (block: ThinkingBlock): string => JSON.stringify(block);

export const partsOf = ({ content }: JsonObject): readonly JsonObject[] =>
  Array.isArray(content) ? content.filter(isObject) : [];

/** The text of a message part, whether an answer or a refusal. */
export const partText = ({ text, refusal }: JsonObject): string =>
  typeof text === "string" ? text : typeof refusal === "string" ? refusal : "";

/** The start of a tool call's block; the input of the call follows in deltas. */
export const toToolUseStart = ({ call_id: id, name }: JsonObject): string =>
  `{"type":"tool_use","id":${JSON.stringify(wordId(String(id)))},"name":${JSON.stringify(name)}}`;

const toolUse = (item: JsonObject): BlockJson => ({ json: toToolUseStart(item), inputJson: toInput(item) });

/**
 * The input of a call as JSON object, since clients require an object. Arguments in any other form come from a model that was cut off or made an
 * error, and are wrapped.
 */
function toInput({ type, arguments: json, input }: JsonObject): string {
  if (type === "custom_tool_call") return JSON.stringify({ input });
  const text = typeof json === "string" ? json : "";
  if (text.trim() === "") return "{}";
  try {
    return isObject(parseWithin(text)) ? text : JSON.stringify({ arguments: text });
  } catch {
    return JSON.stringify({ arguments: text });
  }
}

export interface Citation {
  readonly start: number;
  readonly end: number;
  readonly json: string;
}

/** @param passage the cited part of the answer, used if the source has no excerpt @returns undefined for sources other than web pages */
export function toCitation(annotation: unknown, passage: string): Citation | undefined {
  if (!isObject(annotation) || annotation["type"] !== "url_citation") return undefined;
  const { url, title, start_index: start, end_index: end, content } = annotation;
  if (typeof start !== "number" || typeof end !== "number") return undefined;
  const json = JSON.stringify({
    type: "web_search_result_location",
    url,
    title,
    encrypted_index: "",
    cited_text: typeof content === "string" ? content : passage,
  });
  return { start, end, json };
}

/** Blocks of a text. Each cited passage becomes a block of its own. */
function textBlocks(part: JsonObject): readonly BlockJson[] {
  const text = partText(part);
  if (text === "") return [];
  const annotations: readonly unknown[] = Array.isArray(part["annotations"]) ? part["annotations"] : [];
  if (annotations.length === 0) return [{ json: textJson(text, []) }];
  const characters = Array.from(text);
  const passage = (start: number, end: number) => characters.slice(start, end).join("");
  const blocks: BlockJson[] = [];
  const add = (start: number, end: number, citations: readonly string[]) => {
    if (end > start) blocks.push({ json: textJson(passage(start, end), citations) });
  };
  let at = 0;
  for (const { start, end, jsons } of passagesOf(annotations)) {
    if (end <= at) continue;
    add(at, start, []);
    add(Math.max(at, start), end, jsons);
    at = Math.min(end, characters.length);
  }
  add(at, characters.length, []);
  return blocks;
}

interface Passage {
  readonly start: number;
  readonly end: number;
  readonly jsons: string[];
}

function passagesOf(annotations: readonly unknown[]): readonly Passage[] {
  const passages = new Map<string, Passage>();
  for (const annotation of annotations) {
    const citation = toCitation(annotation, "");
    if (!citation) continue;
    const { start, end, json } = citation;
    const known = passages.get(`${start} ${end}`);
    if (known) known.jsons.push(json);
    else passages.set(`${start} ${end}`, { start, end, jsons: [json] });
  }
  return [...passages.values()].sort((one, other) => one.start - other.start);
}

/** A text block. Without citations the member is left out, since clients reject `citations: null`. */
const textJson = (text: string, citations: readonly string[]): string =>
  `{"type":"text","text":${toJsonString(text)}${citations.length > 0 ? `,"citations":[${citations.join(",")}]` : ""}}`;
