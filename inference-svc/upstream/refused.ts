/** What formats that know messages and functions cannot say at all: leaving it out would change what was asked. */
import type { HostedTool, InputItem, TurnRequest } from "../turn/request.ts";
import type { Refusal } from "./dialect.ts";
import { type JsonObject, isObject, text } from "./json.ts";
import { notableIn } from "./notable.ts";
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
  for (const { path, item, part } of notableIn(input)) {
    const refusal = item ? itemRefusal(item, path, refuse) : partRefusal(part, path, refuse);
    if (refusal) return refusal;
  }
  return undefined;
}

function partRefusal(part: JsonObject, path: string, refuse: Refuse): Refusal | undefined {
  const message = refuse(part);
  return message === undefined ? undefined : { path, message };
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
