/** Parses and checks the input items: each by its shape, then all of them in relation to one another. */
import { inputItem, input as inputShape } from "@sluice/proto/contract/items/input.js";
import { minRememberedBytes } from "@sluice/proto/lib/json/array-memory.js";
import { openBracket } from "@sluice/proto/lib/json/bytes.js";
import { plainId } from "@sluice/proto/lib/ids/foreign-id.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";
import { checkShape, childPath } from "@sluice/proto/lib/validation/shape.js";
import { callIdField, callTypeByOutput, callNames } from "../call-pairs.ts";
import type { DeclaredTools } from "./declared-tools.ts";
import type { IgnoredFields } from "./ignored-fields.ts";
import { type Aliases, neutralize } from "./kinds.ts";
import { ListMemo } from "./list-memo.ts";
import { RepeatedInput } from "./repeated-input.ts";
import { unpackThought } from "./packed-thoughts.ts";
import { neutralizeTools } from "./tools.ts";
import type { InputItem } from "../request.ts";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";

const calls: ReadonlySet<string> = new Set(callTypeByOutput.values());
const none: readonly InputItem[] = [];

/**
 * Parses the input; a text becomes one user message. Defaults are written into the parsed items.
 * @param json undefined when the request has no input
 * @param owner hash of the key for which items are remembered; undefined to remember none
 * @param ignored collects the unknown fields of items
 */
export function parseInput(
  json: Buffer | undefined,
  declared: DeclaredTools,
  aliases: Aliases,
  problems: Problems,
  owner?: string,
  ignored?: IgnoredFields,
): readonly InputItem[] {
  const isRemembered =
    json !== undefined && owner !== undefined && json.length >= minRememberedBytes && json[0] === openBracket;
  const repeated = isRemembered ? new RepeatedInput(json, owner, aliases) : undefined;
  const value: unknown = repeated ? repeated.parse() : json && JSON.parse(json.toString("utf8"));
  if (value === undefined || value === null) {
    problems.add("input", "required");
    return [];
  }
  const before = problems.count;
  const beginning = repeated?.beginning ?? none;
  const known = beginning.length;
  if (Array.isArray(value))
    for (let index = known; index < value.length; index++) neutralizeItem(value[index], aliases);
  if (known === 0) checkShape(inputShape, value, "input", problems);
  else checkItems(value as readonly unknown[], known, problems);
  if (typeof value === "string") return [{ type: "message", role: "user", content: value }];
  if (!Array.isArray(value)) return [];
  const items = new Sequence(declared, problems).read(value, beginning);
  ignored?.note(items);
  if (problems.count === before) repeated?.keep(items);
  return items;
}

function checkItems(items: readonly unknown[], from: number, problems: Problems): void {
  for (let index = from; index < items.length; index++) {
    checkShape(inputItem, items[index], childPath("input", index), problems);
  }
}

function neutralizeItem(item: unknown, aliases: Aliases): void {
  if (!isObject(item)) return;
  neutralize(item, inputItem.kinds, aliases);
  if (item["tools"] !== undefined) neutralizeTools(item["tools"], aliases);
}

class Sequence {
  readonly #declared: DeclaredTools;
  readonly #problems: Problems;
  /** Ids of calls in the items that no earlier request of the conversation contained; undefined without such calls. */
  #calls: CallIds | undefined;
  #beginning = none;
  #references: References | undefined;

  constructor(declared: DeclaredTools, problems: Problems) {
    this.#declared = declared;
    this.#problems = problems;
  }

  /** Reads items. @param beginning items for the first values, already read */
  read(values: readonly unknown[], beginning: readonly InputItem[]): readonly InputItem[] {
    this.#beginning = beginning;
    const items = beginning.slice();
    for (let index = items.length; index < values.length; index++) {
      // The shape check has already reported entries that are no objects; each is replaced by an empty object.
      const item = isObject(values[index]) ? (values[index] as Record<string, unknown>) : {};
      replaceIds(item);
      item["type"] ??= item["role"] === undefined ? "item_reference" : "message";
      items.push(this.#item(item, index, items));
    }
    return items;
  }

  #item(item: Record<string, unknown>, index: number, before: readonly InputItem[]): InputItem {
    const type = item["type"] as string;
    if (type === "message") message(item, index, this.#problems);
    else if (type === "reasoning") reasoning(item);
    else if (type === "item_reference") this.#reference(item, index, before);
    else if (calls.has(type)) addCall((this.#calls ??= new Map()), item);
    else if (callTypeByOutput.has(type)) this.#answered(type, item, index);
    else if (type === "configuration_update" && before.at(-1)?.type === type) {
      this.#problems.add(`input.${index}`, "follows another configuration_update");
    } else if (type === "additional_tools") this.#declared.add(item["tools"], `input.${index}.tools`, this.#problems);
    return item as InputItem;
  }

  #answered(type: string, item: JsonObject, index: number): void {
    const call = callTypeByOutput.get(type) as string;
    const field = callIdField(type);
    const id = item[field];
    if (typeof id === "string" && !this.#isCalled(call, id)) {
      this.#problems.add(`input.${index}.${field}`, `matches no earlier ${call}`);
    }
    if (type === "tool_search_output") this.#declared.add(item["tools"], `input.${index}.tools`, this.#problems, true);
    withDetail(item["output"]);
  }

  #isCalled(type: string, id: string): boolean {
    return this.#calls?.get(type)?.has(id) === true || knownCalls.of(this.#beginning).get(type)?.has(id) === true;
  }

  #reference(item: JsonObject, index: number, before: readonly InputItem[]): void {
    this.#references ??= new References(this.#problems);
    this.#references.check(item, index, before);
  }
}

/** Ids of calls, by the type of the call. */
type CallIds = Map<string, Set<unknown>>;

const knownCalls = new ListMemo<Readonly<CallIds>>(new Map(), (_, input) => {
  const ids: CallIds = new Map();
  for (const item of input) if (calls.has(item.type)) addCall(ids, item);
  return ids;
});

function addCall(calls: CallIds, item: JsonObject): void {
  for (const [kind, id] of callNames(item)) {
    let ids = calls.get(kind);
    if (!ids) calls.set(kind, (ids = new Set()));
    ids.add(id);
  }
}

function reasoning(item: Record<string, unknown>): void {
  item["summary"] ??= [];
  unpackThought(item);
}

/** Fields with ids of items and of pairs of items. Nothing else refers to these ids, so they can be replaced. */
const idFields = ["id", "call_id", "approval_request_id"];

function replaceIds(item: Record<string, unknown>): void {
  for (const field of idFields) {
    const id = item[field];
    if (typeof id === "string") item[field] = plainId(id);
  }
}

function message(item: Record<string, unknown>, index: number, problems: Problems): void {
  item["content"] ??= [];
  // `phase` belongs to messages of the assistant; providers refuse it in other messages.
  if (item["phase"] !== undefined && item["role"] !== "assistant") {
    if (item["phase"] !== null) problems.onIgnored?.(`input.${index}.phase`);
    delete item["phase"];
  }
  withDetail(item["content"]);
}

/** Writes the default of `detail` into image parts, so no dialect has to know it. */
function withDetail(content: unknown): void {
  if (!Array.isArray(content)) return;
  for (const part of content as readonly (Record<string, unknown> | null)[]) {
    if (part?.["type"] === "input_image") part["detail"] ??= "auto";
  }
}

export class References {
  readonly #problems: Problems;
  readonly #ids = new Set<unknown>();
  #seen = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** Checks an item reference. @param before the items in front of it */
  check({ id }: JsonObject, index: number, before: readonly InputItem[]): void {
    for (; this.#seen < before.length; this.#seen++) {
      const item = before[this.#seen] as InputItem;
      if (item.type !== "item_reference") this.#ids.add(item["id"]);
    }
    if (typeof id !== "string" || this.#ids.has(id)) return;
    const says =
      "names no earlier item of this input, and none that is remembered; send the item itself, as clients do with store: false, or set responses.remember_items";
    this.#problems.add(`input.${index}.id`, says, FaultReason.INVALID_PROMPT);
  }
}
