/**
 * Collects unknown fields within items, tools and settings. They are ignored, and the receipt names them, so a
 * misspelled field is noticed.
 */
import type { InputItem, Tool } from "../request.ts";

/** Maximum number of fields in a receipt, which limits how much text a client can have repeated. */
const maxFields = 16;

const none: readonly string[] = [];

/** Key of an item's property with its unknown fields. They are stored on the item, because a conversation repeats items without a new check. */
const ignored = Symbol("ignored");
type NotedItem = InputItem & { [ignored]?: readonly string[] };

const itemPath = /^input\.(?<index>\d+)\.(?<field>.+)$/;

export class IgnoredFields {
  /** Whether the door has itself checked everything but hosted tools. */
  readonly #hostedOnly: boolean;
  readonly #paths: string[] = [];
  /** Unknown fields of items, by the item's index. */
  readonly #byItem = new Map<number, string[]>();

  constructor(hostedOnly: boolean) {
    this.#hostedOnly = hostedOnly;
  }

  readonly add = (path: string): void => {
    // Fields of tools and of the text format are cached with these, and added by `addTools` and `addFormat`.
    if (!path.startsWith("tools.") && !path.startsWith("text.format.")) this.#add(path);
  };

  #add(path: string): void {
    const { index, field } = itemPath.exec(path)?.groups ?? {};
    if (index === undefined || field === undefined) {
      if (this.#paths.length < maxFields) this.#paths.push(path);
      return;
    }
    const fields = this.#byItem.get(Number(index)) ?? [];
    if (fields.length < maxFields) this.#byItem.set(Number(index), [...fields, field]);
  }

  /** @param paths paths of unknown fields in these tools */
  addTools(paths: readonly string[], tools: readonly Tool[]): void {
    for (const path of paths) {
      const index = Number(path.split(".")[1]);
      if (!this.#hostedOnly || tools[index]?.type === "hosted") this.#add(path);
    }
  }

  /** @param paths paths of unknown fields in the text format */
  addFormat(paths: readonly string[]): void {
    if (!this.#hostedOnly) for (const path of paths) this.#add(path);
  }

  /** Stores the unknown fields of checked items on the items. */
  note(items: readonly NotedItem[]): void {
    for (const [index, fields] of this.#byItem) {
      const item = items[index];
      if (item) item[ignored] = fields;
    }
  }

  /** The paths of all unknown fields; called when everything has been checked. */
  list(items: readonly NotedItem[]): readonly string[] {
    const found = this.#paths;
    for (let index = 0; index < items.length && found.length < maxFields; index++) {
      const fields = items[index]![ignored];
      if (fields) found.push(...fields.map((field) => `input.${index}.${field}`));
    }
    return found.length === 0 ? none : found.slice(0, maxFields);
  }
}
