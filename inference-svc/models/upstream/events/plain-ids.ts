/** Replaces ids of a provider that could be texts, alike at every place of an answer, because guardrails do not scan ids. */
import { plainId } from "@sluice/proto/lib/ids/foreign-id.js";
import type { Emit } from "./item-writer.ts";

/** Fields with data: within them, names come from the model or a tool, and texts are scanned as texts. */
const data: ReadonlySet<string> = new Set([
  "arguments",
  "action",
  "input",
  "output",
  "tools",
  "attributes",
  "metadata",
  "logprobs",
  "vectors",
]);

const isId = (field: string): boolean => field === "id" || field.endsWith("_id") || field.endsWith("_ids");

export const withPlainIds =
  (emit: Emit): Emit =>
  (event) => {
    if (event.type === "item.start" || event.type === "item.end") {
      const item = plainIds(event.item);
      return emit(item === event.item ? event : { ...event, item });
    }
    if (event.type !== "annotation") return emit(event);
    const annotation = plainIds(event.annotation);
    emit(annotation === event.annotation ? event : { ...event, annotation });
  };

/** Replaces ids within a value. Returns the same value when all of its ids are plain. The depth is limited as for scanned JSON. */
export function plainIds<Value>(value: Value, field = ""): Value {
  if (typeof value === "string") return (isId(field) ? plainId(value) : value) as Value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return inElements(value, field) as Value;
  let copy: Record<string, unknown> | undefined;
  for (const name in value) {
    if (data.has(name)) continue;
    const member: unknown = value[name];
    const plain = plainIds(member, name);
    if (plain !== member) (copy ??= { ...value } as Record<string, unknown>)[name] = plain;
  }
  return (copy ?? value) as Value;
}

/**
 * Replaces ids within a list. It is walked by index: `for in` makes a string of every index, and took seconds for an
 * array of a million elements.
 */
function inElements(elements: readonly unknown[], field: string): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < elements.length; index++) {
    const plain = plainIds(elements[index], field);
    if (plain !== elements[index]) (copy ??= [...elements])[index] = plain;
  }
  return copy ?? elements;
}
