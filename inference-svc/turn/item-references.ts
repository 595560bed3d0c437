/** References to items: nothing is stored, so they can name only what comes before them in the same input. */
import { FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { InputItem } from "./request.ts";

export class References {
  readonly #problems: Problems;
  readonly #ids = new Set<unknown>();
  #seen = 0;

  constructor(problems: Problems) {
    this.#problems = problems;
  }

  /** @param before the items before the reference */
  check({ id }: JsonObject, index: number, before: readonly InputItem[]): void {
    for (; this.#seen < before.length; this.#seen++) {
      const item = before[this.#seen] as InputItem;
      if (item.type !== "item_reference") this.#ids.add(item["id"]);
    }
    if (typeof id !== "string" || this.#ids.has(id)) return;
    const says =
      "names no item before it in this input: nothing is stored; send the item itself, as clients do with store: false";
    this.#problems.add(`input.${index}.id`, says, FaultReason.INVALID_PROMPT);
  }
}
