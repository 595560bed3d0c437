/** The input items: each by its shape, then what they must be to one another. */
import { inputItem, input as inputShape } from "@sluice/proto/contract/input.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { DeclaredTools } from "./declared-tools.ts";
import { References } from "./item-references.ts";
import { type Aliases, neutralize } from "./parse-kinds.ts";
import { neutralizeTools } from "./parse-tools.ts";
import type { InputItem } from "./request.ts";

/** Outputs with the kind of call before them that they belong to. */
const callOf: ReadonlyMap<string, string> = new Map([
  ["function_call_output", "function_call"],
  ["custom_tool_call_output", "custom_tool_call"],
  ["apply_patch_call_output", "apply_patch_call"],
  ["local_shell_call_output", "local_shell_call"],
  ["shell_call_output", "shell_call"],
  ["computer_call_output", "computer_call"],
  ["tool_search_output", "tool_search_call"],
  ["mcp_approval_response", "mcp_approval_request"],
]);
const calls: ReadonlySet<string> = new Set(callOf.values());

/** A string is one message of the user. The items are the parsed ones themselves, with defaults put in. */
export function parseInput(
  value: unknown,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
): readonly InputItem[] {
  if (value === undefined || value === null) {
    problems.add("input", "required");
    return [];
  }
  if (Array.isArray(value)) for (const item of value) neutralizeItem(item, aliases);
  inputShape.check(value, "input", problems);
  if (typeof value === "string") return [{ type: "message", role: "user", content: value }];
  return Array.isArray(value) ? new Sequence(declared, problems).read(value) : [];
}

function neutralizeItem(item: unknown, aliases: Aliases): void {
  if (!isObject(item)) return;
  neutralize(item, inputItem.kinds, aliases);
  if (item["tools"] !== undefined) neutralizeTools(item["tools"], aliases);
}

class Sequence {
  readonly #declared: DeclaredTools;
  readonly #problems: Problems;
  /** The ids of calls by the kind of call. */
  readonly #calls = new Map<string, Set<unknown>>();
  #references: References | undefined;

  constructor(declared: DeclaredTools, problems: Problems) {
    this.#declared = declared;
    this.#problems = problems;
  }

  read(values: readonly unknown[]): readonly InputItem[] {
    const items: InputItem[] = [];
    for (let index = 0; index < values.length; index++) {
      // What is none has been said to be none; nothing is read after that.
      const item = isObject(values[index]) ? (values[index] as Record<string, unknown>) : {};
      if (item["type"] === undefined && item["role"] !== undefined) item["type"] = "message";
      items.push(this.#item(item, index, items));
    }
    return items;
  }

  #item(item: Record<string, unknown>, index: number, before: readonly InputItem[]): InputItem {
    const type = item["type"] as string;
    if (type === "message") message(item);
    else if (type === "reasoning") item["summary"] ??= [];
    else if (type === "item_reference") this.#reference(item, index, before);
    else if (calls.has(type)) this.#called(type, item);
    else if (callOf.has(type)) this.#answered(type, item, index);
    else if (type === "configuration_update" && before.at(-1)?.type === type) {
      this.#problems.add(`input.${index}`, "follows another configuration_update");
    } else if (type === "additional_tools") this.#declared.add(item["tools"], `input.${index}.tools`, this.#problems);
    return item as InputItem;
  }

  #called(type: string, item: JsonObject): void {
    let ids = this.#calls.get(type);
    if (!ids) this.#calls.set(type, (ids = new Set()));
    if (type === "mcp_approval_request" || type === "local_shell_call") ids.add(item["id"]);
    ids.add(item["call_id"]);
  }

  #answered(type: string, item: JsonObject, index: number): void {
    const call = callOf.get(type) as string;
    const field =
      type === "mcp_approval_response" ? "approval_request_id" : type === "local_shell_call_output" ? "id" : "call_id";
    const id = item[field];
    if (typeof id === "string" && !this.#calls.get(call)?.has(id)) {
      this.#problems.add(`input.${index}.${field}`, `matches no ${call} before it`);
    }
    if (type === "tool_search_output") this.#declared.add(item["tools"], `input.${index}.tools`, this.#problems, true);
    withDetail(item["output"]);
  }

  #reference(item: JsonObject, index: number, before: readonly InputItem[]): void {
    this.#references ??= new References(this.#problems);
    this.#references.check(item, index, before);
  }
}

function message(item: Record<string, unknown>): void {
  item["content"] ??= [];
  // It means something for what an assistant said; elsewhere providers refuse it.
  if (item["phase"] !== undefined && item["role"] !== "assistant") delete item["phase"];
  withDetail(item["content"]);
}

/** The default is put in here, so that no dialect has to know it. */
function withDetail(content: unknown): void {
  if (!Array.isArray(content)) return;
  for (const part of content as readonly (Record<string, unknown> | null)[]) {
    if (part?.["type"] === "input_image") part["detail"] ??= "auto";
  }
}
