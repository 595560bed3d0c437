/** Converts tools and the tool choice to the form of a turn. JSON schemas of parameters are copied from the client's bytes. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { type ByteSpan, elementsOf, memberOf } from "@sluice/proto/lib/json/span.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { ElementNote, RepeatedArray } from "../../edge/turns/repeated-array.ts";
import { jsonMember } from "./content.ts";

interface Grammar {
  readonly syntax: string;
  readonly definition: string;
}

interface CustomTool {
  readonly name: string;
  readonly description?: string | null;
  readonly format?: { readonly type: string; readonly grammar?: Grammar } | null;
}

/** A tool after the check of its shape. */
export interface Tool extends JsonObject {
  /** Type of the tool; Mistral's clients omit it for functions. */
  readonly type?: string;
  readonly custom?: CustomTool;
  readonly cache_control?: unknown;
}

interface ToolReference {
  readonly type: string;
  readonly function?: { readonly name: string };
  readonly custom?: { readonly name: string };
}

export type ChatToolChoice =
  | string
  | (ToolReference & { readonly allowed_tools?: { readonly mode: string; readonly tools: readonly ToolReference[] } });

export type FunctionChoice = string | { readonly name: string };

export interface WebSearchOptions {
  readonly search_context_size?: string | null;
  readonly user_location?: { readonly approximate: JsonObject } | null;
}

/** Facts about a tool converted for an earlier request: of a known tool, only the unknown fields are needed again. */
export class ChatToolNote implements ElementNote {
  /** Paths of unknown fields in the tool. */
  readonly ignored: readonly string[];

  constructor(ignored: readonly string[]) {
    this.ignored = ignored;
  }

  get standIn(): Tool {
    return tool;
  }

  get size(): number {
    return this.ignored.length;
  }
}

const tool = { type: "function", function: { name: "known" } };
const noted = new ChatToolNote([]);

interface ToolArrays {
  readonly tools: RepeatedArray<ChatToolNote>;
  ignoredIn(element: string): readonly string[] | undefined;
}

/** Writes the tools of a turn, each followed by a comma, and then the text `after`. */
export function writeTools(body: Buffer, tools: readonly Tool[], arrays: ToolArrays, after: string): Buffer {
  const array = arrays.tools;
  for (let index = array.known; index < tools.length; index++) {
    const ignored = arrays.ignoredIn(`tools.${index}`);
    const note = ignored?.length === 0 ? noted : ignored && new ChatToolNote(ignored);
    array.add(`${toolJson(body, array.spanOf(index), tools[index]!)},`, note);
  }
  return array.write("", after);
}

function toolJson(body: Buffer, { start, end }: ByteSpan, tool: Tool): string {
  const { type, custom, cache_control: mark } = tool;
  const marked = mark ? `"cache_control":${JSON.stringify(mark)},` : "";
  if (type === "function" || type === undefined) {
    const inner = memberOf(body, start, "function")!;
    // Some clients put the cache mark into the member `function` instead of the tool.
    const isInside = memberOf(body, inner.start, "cache_control") !== undefined;
    return functionJson(body.toString("utf8", inner.start, inner.end), isInside ? "" : marked);
  }
  return type === "custom" && custom ? customJson(custom, marked) : body.toString("utf8", start, end);
}

/**
 * A function as a tool of a turn.  @param json object with at least a name, so its members can follow a comma  @param marked the tool's cache mark as
 * a JSON member, followed by a comma
 */
const functionJson = (json: string, marked = ""): string => `{"type":"function",${marked}${json.slice(1)}`;

function customJson({ name, description, format }: CustomTool, marked: string): string {
  const grammar = format?.grammar;
  const shown = grammar
    ? `,"format":{"type":"grammar"${jsonMember("syntax", grammar.syntax)}${jsonMember("definition", grammar.definition)}}`
    : "";
  return `{"type":"custom",${marked}"name":${toJsonString(name)}${jsonMember("description", description)}${shown}}`;
}

/** The functions as tools of a turn, each followed by a comma. @param span place of `functions` in the body */
export const functionsJson = (body: Buffer, span: ByteSpan): string =>
  elementsOf(body, span.start)
    .map(({ start, end }) => `${functionJson(body.toString("utf8", start, end))},`)
    .join("");

export function webSearchJson({ search_context_size: size, user_location: location }: WebSearchOptions): string {
  const place = location ? JSON.stringify({ type: "approximate", ...location.approximate }) : "";
  return `{"type":"web_search"${jsonMember("search_context_size", size)}${place === "" ? "" : `,"user_location":${place}`}}`;
}

export function toolChoiceJson(choice: ChatToolChoice): string {
  if (typeof choice === "string") return toJsonString(choice === "any" ? "required" : choice);
  const { allowed_tools: allowed } = choice;
  if (!allowed) return referenceJson(choice);
  const tools = allowed.tools.map(referenceJson).join(",");
  return `{"type":"allowed_tools","mode":${toJsonString(allowed.mode)},"tools":[${tools}]}`;
}

function referenceJson(reference: ToolReference): string {
  const { type, function: called, custom } = reference;
  const tool = called ?? custom;
  return tool ? `{"type":${toJsonString(type)},"name":${toJsonString(tool.name)}}` : JSON.stringify(reference);
}

export const functionChoiceJson = (choice: FunctionChoice): string =>
  typeof choice === "string" ? toJsonString(choice) : `{"type":"function","name":${toJsonString(choice.name)}}`;
