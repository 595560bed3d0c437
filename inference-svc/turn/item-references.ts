/** References to items: nothing is stored, so they can mean only what comes before them in the same input. */
import { FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { InputItem } from "./request.ts";

/** Characters of JSON that references may add to an input: a short body must not become a long one. */
const maxCharacters = 33_554_432;

export class References {
  readonly #problems: Problems;
  readonly #byId = new Map<string, InputItem>();
  readonly #sizes = new Map<string, number>();
  #seen = 0;
  #characters = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** @param before the items before the reference */
  resolve(reference: JsonObject, index: number, before: readonly InputItem[]): InputItem {
    for (; this.#seen < before.length; this.#seen++) {
      const item = before[this.#seen] as InputItem;
      if (typeof item["id"] === "string" && item.type !== "item_reference") this.#byId.set(item["id"], item);
    }
    const { id } = reference;
    const item = typeof id === "string" ? this.#byId.get(id) : undefined;
    if (typeof id !== "string") return reference as InputItem;
    if (!item) {
      const says = "names no item before it in this input: nothing is stored";
      this.#problems.add(`input.${index}.id`, says, FaultReason.INVALID_PROMPT);
      return reference as InputItem;
    }
    this.#count(id, item, index);
    return item;
  }

  #count(id: string, item: InputItem, index: number): void {
    const size = this.#sizes.get(id) ?? JSON.stringify(item).length;
    this.#sizes.set(id, size);
    this.#characters += size;
    if (this.#characters > maxCharacters && this.#characters - size <= maxCharacters) {
      this.#problems.add(`input.${index}`, `the items referred to have more than ${maxCharacters} characters together`);
    }
  }
}
