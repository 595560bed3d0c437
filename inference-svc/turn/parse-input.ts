/** The input items: each by its shape, then what they must be to one another. */
import { inputItem, input as inputShape } from "@sluice/proto/contract/input.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { callFieldOf, callOf, namesOfCall } from "./call-pairs.ts";
import type { DeclaredTools } from "./declared-tools.ts";
import { References } from "./item-references.ts";
import { type Aliases, neutralize } from "./parse-kinds.ts";
import { neutralizeTools } from "./parse-tools.ts";
import type { InputItem } from "./request.ts";

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
      item["type"] ??= item["role"] === undefined ? "item_reference" : "message";
      items.push(this.#item(item, index, items));
    }
    return items;
  }

  #item(item: Record<string, unknown>, index: number, before: readonly InputItem[]): InputItem {
    const type = item["type"] as string;
    if (type === "message") message(item);
    else if (type === "reasoning") item["summary"] ??= [];
    else if (type === "item_reference") this.#reference(item, index, before);
    else if (calls.has(type)) this.#called(item);
    else if (callOf.has(type)) this.#answered(type, item, index);
    else if (type === "configuration_update" && before.at(-1)?.type === type) {
      this.#problems.add(`input.${index}`, "follows another configuration_update");
    } else if (type === "additional_tools") this.#declared.add(item["tools"], `input.${index}.tools`, this.#problems);
    return item as InputItem;
  }

  #called(item: JsonObject): void {
    for (const [kind, id] of namesOfCall(item)) {
      let ids = this.#calls.get(kind);
      if (!ids) this.#calls.set(kind, (ids = new Set()));
      ids.add(id);
    }
  }

  #answered(type: string, item: JsonObject, index: number): void {
    const call = callOf.get(type) as string;
    const field = callFieldOf(type);
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
