/** What cannot be said in chat at all: leaving it out would change what was asked. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { isObject, objects, text } from "../json.ts";
import { hostedTool } from "../offered.ts";
import { partRefusal } from "./parts.ts";

const callable: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

const cannotRun = (type: string): string => `no provider of this model runs tools of type ${type}`;

export function chatRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const hosted = hostedTool(request);
  if (hosted) return { path: hosted.path, message: cannotRun(hosted.tool.spelling) };
  const choice = request.toolChoice;
  if (typeof choice === "object" && choice.type === "tool" && !callable.has(choice.tool.type)) {
    return { path: "tool_choice", message: cannotRun(choice.tool.type) };
  }
  for (const [index, item] of request.input.entries()) {
    const refusal = itemRefusal(item, `input.${index}`, target);
    if (refusal) return refusal;
  }
  if (target.original && request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  return undefined;
}

function itemRefusal(item: InputItem, path: string, target: Target): Refusal | undefined {
  if (item.type === "compaction" || item.type === "context_compaction") {
    // Who cannot open it would not know what was said so far.
    const sealed = text(item.encrypted_content) !== "";
    return sealed ? { path, message: `no provider of this model takes items of type ${item.type}` } : undefined;
  }
  if (item.type === "computer_call_output") {
    const shown = isObject(item.output) && typeof item.output.image_url === "string";
    return shown ? undefined : { path: `${path}.output`, message: "no provider of this model takes images by file_id" };
  }
  return partsRefusal(item.content, `${path}.content`, target) ?? partsRefusal(item.output, `${path}.output`, target);
}

function partsRefusal(parts: unknown, path: string, target: Target): Refusal | undefined {
  if (!Array.isArray(parts)) return undefined;
  for (const [index, part] of objects(parts).entries()) {
    const message = partRefusal(part, target);
    if (message !== undefined) return { path: `${path}.${index}`, message };
  }
  return undefined;
}
