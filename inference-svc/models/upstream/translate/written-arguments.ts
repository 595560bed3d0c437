/**
 * Finds the JSON of call arguments exactly as a provider wrote it in a whole answer. Parsing and writing it would round
 * large numbers and change the order of members.
 */
import { openBrace } from "@sluice/proto/lib/json/bytes.js";
import { type ByteSpan, elementsOf, membersOf } from "@sluice/proto/lib/json/span.js";

/** Path in a JSON value: member names, or the index of an element among the objects of its list. */
type Path = readonly (string | number)[];

/**
 * Finds the arguments of every call in a list of blocks.
 * @param answer the answer as JSON text
 * @param list path of the list of blocks
 * @param call path of the arguments inside a block
 * @returns the bytes of the arguments by the index of the block, counted only among object blocks
 */
export function findArguments(answer: string, list: Path, call: Path): ReadonlyMap<number, Buffer> {
  const bytes = Buffer.from(answer.trimStart());
  const blocks = objectsIn(bytes, follow(bytes, 0, list));
  return new Map(
    blocks.flatMap(({ start }, index) => {
      const found = follow(bytes, start, call);
      return found ? [[index, bytes.subarray(found.start, found.end)] as const] : [];
    }),
  );
}

function follow(bytes: Buffer, from: number, path: Path): ByteSpan | undefined {
  let span: ByteSpan | undefined = { start: from, end: bytes.length };
  for (const step of path) {
    if (span === undefined) return undefined;
    span = typeof step === "number" ? objectsIn(bytes, span)[step] : findMember(bytes, span, step);
  }
  return span;
}

const objectsIn = (bytes: Buffer, list: ByteSpan | undefined): readonly ByteSpan[] =>
  list ? elementsOf(bytes, list.start).filter(({ start }) => bytes[start] === openBrace) : [];

/** The value of a member; of several members with this name the last counts, as with `JSON.parse`. */
const findMember = (bytes: Buffer, { start }: ByteSpan, key: string): ByteSpan | undefined =>
  bytes[start] === openBrace ? membersOf(bytes, start).findLast((member) => member.key === key) : undefined;
