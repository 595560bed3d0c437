/** What formats that know messages and functions cannot say at all: leaving it out would change what was asked. */
import type { HostedTool, InputItem, TurnRequest } from "../turn/request.ts";
import type { Refusal } from "./dialect.ts";
import { type JsonObject, isObject, objects, text } from "./json.ts";
import { isSearch, offeredTools } from "./offered.ts";

export const cannot = (what: string): string => `no provider of this model takes ${what}`;

const cannotRun = (type: string): string => `no provider of this model runs tools of type ${type}`;

const callable: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

/** Tools that the provider runs itself. */
export interface Runs {
  tool(tool: HostedTool): boolean;
  /** Whether the choice may name a tool of that type. */
  type(type: string): boolean;
}

export const runsNone: Runs = { tool: () => false, type: () => false };

export function toolRefusal(request: TurnRequest, runs: Runs): Refusal | undefined {
  for (const { path, tool, allowed } of offeredTools(request)) {
    if (tool.type !== "hosted" || !allowed || isSearch(tool)) continue;
    if (!runs.tool(tool)) return { path, message: cannotRun(tool.spelling) };
  }
  const choice = request.toolChoice;
  if (typeof choice !== "object" || choice.type !== "tool") return undefined;
  const { type } = choice.tool;
  return callable.has(type) || runs.type(type) ? undefined : { path: "tool_choice", message: cannotRun(type) };
}

/** Says why a part cannot be said; undefined when it can. */
type Refuse = (part: JsonObject) => string | undefined;

export function inputRefusal(input: readonly InputItem[], refuse: Refuse): Refusal | undefined {
  for (const [index, item] of input.entries()) {
    const path = `input.${index}`;
    const whole = itemRefusal(item, path, refuse);
    if (whole) return whole;
    for (const [at, part] of partsOf(item, path)) {
      const message = refuse(part);
      if (message !== undefined) return { path: at, message };
    }
  }
  return undefined;
}

function itemRefusal(item: InputItem, path: string, refuse: Refuse): Refusal | undefined {
  if (item.type === "compaction" || item.type === "context_compaction") {
    // Who cannot open it would not know what was said so far.
    const sealed = text(item.encrypted_content) !== "";
    return sealed ? { path, message: cannot(`items of type ${item.type}`) } : undefined;
  }
  if (item.type !== "computer_call_output") return undefined;
  const url = isObject(item.output) ? text(item.output.image_url) : "";
  const message = url === "" ? cannot("images by file_id") : refuse({ type: "input_image", image_url: url });
  return message === undefined ? undefined : { path: `${path}.output`, message };
}

/** The parts of a message or of what a tool gave, each with its path. */
export function partsOf(item: InputItem, path: string): readonly (readonly [string, JsonObject])[] {
  const field = Array.isArray(item.content) ? "content" : "output";
  return objects(item[field]).map((part, index) => [`${path}.${field}.${index}`, part] as const);
}
