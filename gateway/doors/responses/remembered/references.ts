/** Finds references to earlier items in a body's input, and replaces them by the items. */
import { openBracket } from "@sluice/proto/lib/json/bytes.js";
import { type ByteSpan, type JsonMember, elementsOf } from "@sluice/proto/lib/json/span.js";

const mark = Buffer.from("item_reference");

interface Reference extends ByteSpan {
  readonly id: string;
}

/** References to items that do not precede them in the input. Most bodies have none. */
export function findReferences(body: Buffer, members: readonly JsonMember[]): readonly Reference[] {
  const input = members.find(({ key }) => key === "input");
  if (input === undefined || body[input.start] !== openBracket) return [];
  if (!body.subarray(input.start, input.end).includes(mark)) return [];
  const known = new Set<unknown>();
  return elementsOf(body, input.start).flatMap(({ start, end }): Reference[] => {
    const item = JSON.parse(body.toString("utf8", start, end)) as { type?: unknown; id?: unknown } | null;
    const { type, id } = item ?? {};
    if (type !== "item_reference") known.add(id);
    return type === "item_reference" && typeof id === "string" && !known.has(id) ? [{ id, start, end }] : [];
  });
}

/** @param items JSON of the items by id @returns the body, with these items in place of their references */
export function withItems(body: Buffer, references: readonly Reference[], items: ReadonlyMap<string, string>): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  const placed = new Set<string>();
  for (const { id, start, end } of references) {
    const item = items.get(id);
    // The item is inserted once: a second reference to it then points to an item of the input.
    if (item === undefined || placed.has(id)) continue;
    placed.add(id);
    parts.push(body.subarray(at, start), Buffer.from(item));
    at = end;
  }
  return Buffer.concat([...parts, body.subarray(at)]);
}
