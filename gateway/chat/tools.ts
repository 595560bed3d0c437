/** Writes tools and the choice among them in the form of a turn. Parameters keep the bytes that the client wrote. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { type ByteSpan, elementsOf, memberOf } from "@sluice/proto/runtime/validation/json-span.js";
import { quoted } from "../turns/json.ts";
import { member } from "./content.ts";

interface Grammar {
  readonly syntax: string;
  readonly definition: string;
}

interface CustomTool {
  readonly name: string;
  readonly description?: string | null;
  readonly format?: { readonly type: string; readonly grammar?: Grammar } | null;
}

/** A tool that its shape has accepted. */
export interface Tool extends JsonObject {
  readonly type: string;
  readonly custom?: CustomTool;
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

/** @param span of `tools` in the body @returns their elements as JSON, with commas between them */
export function toolsJson(body: Buffer, span: ByteSpan, tools: readonly Tool[]): string {
  let json = "";
  const elements = elementsOf(body, span.start);
  for (let index = 0; index < tools.length; index++) {
    json += (index > 0 ? "," : "") + toolJson(body, elements[index]!, tools[index]!);
  }
  return json;
}

function toolJson(body: Buffer, { start, end }: ByteSpan, { type, custom }: Tool): string {
  if (type === "function") {
    const inner = memberOf(body, start, "function")!;
    return functionJson(body.toString("utf8", inner.start, inner.end));
  }
  return type === "custom" && custom ? customJson(custom) : body.toString("utf8", start, end);
}

/** @param json of an object that has a name, so that a comma can stand before its members */
const functionJson = (json: string): string => `{"type":"function",${json.slice(1)}`;

function customJson({ name, description, format }: CustomTool): string {
  const grammar = format?.grammar;
  const shown = grammar
    ? `,"format":{"type":"grammar"${member("syntax", grammar.syntax)}${member("definition", grammar.definition)}}`
    : "";
  return `{"type":"custom","name":${quoted(name)}${member("description", description)}${shown}}`;
}

/** @param span of `functions` in the body */
export const functionsJson = (body: Buffer, span: ByteSpan): string =>
  elementsOf(body, span.start)
    .map(({ start, end }) => functionJson(body.toString("utf8", start, end)))
    .join(",");

export function webSearchJson({ search_context_size: size, user_location: location }: WebSearchOptions): string {
  const place = location ? JSON.stringify({ type: "approximate", ...location.approximate }) : "";
  return `{"type":"web_search"${member("search_context_size", size)}${place === "" ? "" : `,"user_location":${place}`}}`;
}

export function toolChoiceJson(choice: ChatToolChoice): string {
  if (typeof choice === "string") return quoted(choice);
  const { allowed_tools: allowed } = choice;
  if (!allowed) return referenceJson(choice);
  const tools = allowed.tools.map(referenceJson).join(",");
  return `{"type":"allowed_tools","mode":${quoted(allowed.mode)},"tools":[${tools}]}`;
}

function referenceJson(reference: ToolReference): string {
  const { type, function: called, custom } = reference;
  const tool = called ?? custom;
  return tool ? `{"type":${quoted(type)},"name":${quoted(tool.name)}}` : JSON.stringify(reference);
}

export const functionChoiceJson = (choice: FunctionChoice): string =>
  typeof choice === "string" ? quoted(choice) : `{"type":"function","name":${quoted(choice.name)}}`;
