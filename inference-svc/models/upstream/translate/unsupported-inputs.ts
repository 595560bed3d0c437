/**
 * Refuses items, parts and tools a format of messages and functions cannot express. They are not left out instead,
 * because this would change the question.
 */
import type { HostedTool, InputItem, TurnRequest } from "../../../turn/request.ts";
import type { Refusal } from "../dialect.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { findSpecialInputs } from "./special-inputs.ts";
import { isToolSearch, offeredTools } from "./offered-tools.ts";

export const unsupportedMessage = (what: string): string => `no provider of this model takes ${what}`;

const media: ReadonlyMap<unknown, string> = new Map([
  ["input_audio", "audio"],
  ["input_video", "video"],
  ["encrypted_content", "encrypted content"],
]);

/** Why a format of texts, images and files cannot contain a part. @returns undefined for a part that is no other medium */
export function refuseMedia({ type }: JsonObject): string | undefined {
  const name = media.get(type);
  return name === undefined ? undefined : unsupportedMessage(name);
}

/**
 * Refuses a request that contains only white space: formats that leave out blank texts would have no message left, to
 * which the provider answers 400.
 */
export function refuseBlank({ input, instructions = "" }: TurnRequest): Refusal | undefined {
  if (input.length === 0 || instructions.trim() !== "" || !isAllBlank(input)) return undefined;
  return { path: "input", message: "must have a text that is not blank" };
}

/** Results by input, cached because every candidate endpoint checks the same one. */
const allBlank = new WeakMap<readonly InputItem[], boolean>();

function isAllBlank(input: readonly InputItem[]): boolean {
  let isBlankInput = allBlank.get(input);
  if (isBlankInput === undefined) allBlank.set(input, (isBlankInput = input.every(isBlank)));
  return isBlankInput;
}

function isBlank({ type, content }: InputItem): boolean {
  if (type !== "message") return type === "configuration_update" || type === "additional_tools";
  if (typeof content === "string") return content.trim() === "";
  return objects(content).every((part) => typeof part.text === "string" && part.text.trim() === "");
}

const unsupportedTool = (type: string): string => `no provider of this model runs tools of type ${type}`;

const callable: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

/** The hosted tools the provider has. */
export interface HostedToolSupport {
  tool(tool: HostedTool): boolean;
  /** Whether a tool choice may name this type of tool. */
  type(type: string): boolean;
}

export const noHostedTools: HostedToolSupport = { tool: () => false, type: () => false };

export function refuseTools(request: TurnRequest, runs: HostedToolSupport): Refusal | undefined {
  for (const { path, tool, allowed } of offeredTools(request)) {
    if (tool.type !== "hosted" || !allowed || isToolSearch(tool)) continue;
    if (!runs.tool(tool)) return { path, message: unsupportedTool(tool.spelling) };
  }
  const choice = request.toolChoice;
  if (typeof choice !== "object" || choice.type !== "tool") return undefined;
  const { type } = choice.tool;
  return callable.has(type) || runs.type(type) ? undefined : { path: "tool_choice", message: unsupportedTool(type) };
}

/** Tells why a part cannot be sent; undefined when it can. */
type CheckPart = (part: JsonObject) => string | undefined;

export function refuseInput(input: readonly InputItem[], refuse: CheckPart): Refusal | undefined {
  for (const { path, item, part } of findSpecialInputs(input)) {
    const refusal = item ? itemRefusal(item, path, refuse) : partRefusal(part, path, refuse);
    if (refusal) return refusal;
  }
  return undefined;
}

function partRefusal(part: JsonObject, path: string, refuse: CheckPart): Refusal | undefined {
  const message = refuse(part);
  return message === undefined ? undefined : { path, message };
}

function itemRefusal(item: InputItem, path: string, refuse: CheckPart): Refusal | undefined {
  if (item.type === "compaction" || item.type === "context_compaction") {
    // A provider that cannot decrypt the item would not know the conversation so far.
    const sealed = text(item.encrypted_content) !== "";
    return sealed ? { path, message: unsupportedMessage(`items of type ${item.type}`) } : undefined;
  }
  if (item.type !== "computer_call_output") return undefined;
  const url = isObject(item.output) ? text(item.output.image_url) : "";
  const message =
    url === "" ? unsupportedMessage("images by file_id") : refuse({ type: "input_image", image_url: url });
  return message === undefined ? undefined : { path: `${path}.output`, message };
}
