/**
 * Reads the items of an input. If an earlier input of the same key began with the same items, these are the same
 * objects, already parsed and checked.
 */
import { ArrayMemory, type KnownElements } from "@sluice/proto/lib/json/array-memory.js";
import { closeBracket, spaceBytes } from "@sluice/proto/lib/json/bytes.js";
import type { InputItem } from "../request.ts";
import { recordKnownItems, firstItems } from "./beginnings.ts";
import { isShareable, shareItem } from "./shared-items.ts";
import type { Aliases } from "./kinds.ts";

/** Known items, by the prefixes that mean `service:`, which are replaced in items. */
const memories = new WeakMap<Aliases, ArrayMemory<InputItem>>();

function memoryFor(aliases: Aliases): ArrayMemory<InputItem> {
  let memory = memories.get(aliases);
  if (!memory) memories.set(aliases, (memory = new ArrayMemory()));
  return memory;
}

/** The JSON of an input. Only a list of some length is remembered. */
export class RepeatedInput {
  readonly #json: Buffer;
  readonly #owner: string;
  readonly #memory: ArrayMemory<InputItem>;
  readonly #found: KnownElements<InputItem> | undefined;
  /** The first items, if they are known and thus already checked; undefined when there are none. */
  readonly beginning: readonly InputItem[] | undefined;

  /** @param owner hash of the key */
  constructor(json: Buffer, owner: string, aliases: Aliases) {
    this.#json = json;
    this.#owner = owner;
    this.#memory = memoryFor(aliases);
    this.#found = this.#memory.find(owner, json, 0);
    this.beginning = this.#found && firstItems(this.#found.values, this.#found.count);
  }

  /** Parses the JSON. @throws SyntaxError when the text is no JSON */
  parse(): unknown {
    const found = this.#found;
    if (found === undefined) return JSON.parse(this.#json.toString("utf8"));
    const items: unknown[] = this.beginning!.slice();
    // A zero replaces the known items, which are not parsed again.
    const others = JSON.parse(`[0${this.#json.toString("utf8", found.length)}`) as unknown[];
    for (let index = 1; index < others.length; index++) items.push(others[index]);
    return items;
  }

  /** Remembers the items, once they have passed all checks. */
  keep(items: readonly InputItem[]): void {
    if (this.beginning) recordKnownItems(items, this.beginning);
    const known = this.beginning?.length ?? 0;
    if (items.length === known) return;
    for (let index = known; index < items.length; index++) if (!isShareable(items[index]!)) return;
    const ends = this.#found?.ends.slice(0, known);
    const text = this.#json.subarray(0, this.#endOfLast());
    if (!this.#memory.keep(this.#owner, text, items, this.#found, ends)) return;
    for (let index = known; index < items.length; index++) shareItem(items[index]!);
  }

  #endOfLast(): number {
    let end = this.#json.lastIndexOf(closeBracket);
    while (spaceBytes[this.#json[end - 1]!] === 1) end--;
    return end;
  }
}
