/** What cannot be said in the format at all: leaving it out would change what was asked. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { isSearch, offeredTools } from "../offered.ts";
import { maxMarks } from "./cache-marks.ts";
import { cannot, partRefusal } from "./parts.ts";
import { isWebSearch, searches } from "./web-search.ts";

const callable: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

const cannotRun = (type: string): string => `no provider of this model runs tools of type ${type}`;

export function messagesRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  for (const { path, tool, allowed } of offeredTools(request)) {
    if (tool.type !== "hosted" || !allowed || isSearch(tool)) continue;
    if (!searches(tool, target)) return { path, message: cannotRun(tool.spelling) };
  }
  const choice = request.toolChoice;
  if (typeof choice === "object" && choice.type === "tool") {
    const { type } = choice.tool;
    if (!callable.has(type) && !isWebSearch(type)) return { path: "tool_choice", message: cannotRun(type) };
  }
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  return inputRefusal(request.input);
}

function inputRefusal(input: readonly InputItem[]): Refusal | undefined {
  let marks = 0;
  for (const [index, item] of input.entries()) {
    const path = `input.${index}`;
    if (item.type === "compaction" || item.type === "context_compaction") {
      // Who cannot open it would not know what was said so far.
      if (text(item.encrypted_content) !== "") return { path, message: cannot(`items of type ${item.type}`) };
    }
    if (item.type === "computer_call_output" && !(isObject(item.output) && text(item.output.image_url) !== "")) {
      return { path: `${path}.output`, message: cannot("images by file_id") };
    }
    for (const [at, part] of partsOf(item, path)) {
      const message = partRefusal(part);
      if (message !== undefined) return { path: at, message };
      const mark = markOf(part);
      if (mark !== undefined && ++marks > maxMarks) {
        return { path: `${at}.${mark}`, message: `no provider of this model takes more than ${maxMarks} marks` };
      }
    }
  }
  return undefined;
}

function partsOf(item: InputItem, path: string): readonly (readonly [string, JsonObject])[] {
  const field = Array.isArray(item.content) ? "content" : "output";
  return objects(item[field]).map((part, index) => [`${path}.${field}.${index}`, part] as const);
}

const markOf = (part: JsonObject): string | undefined =>
  ["cache_control", "prompt_cache_breakpoint"].find((field) => isObject(part[field]));
