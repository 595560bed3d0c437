/**
 * Remembers arrays of JSON texts by their bytes. An agent sends its whole conversation with every step: all elements
 * but the last were parsed before, and are recognized by comparing bytes.
 */
import { crc32 } from "node:zlib";
import { closeBracket, comma, spaceBytes } from "./bytes.ts";
import { addElementEnds } from "./span.ts";

/** Minimum size of a remembered array: to parse a shorter array takes about as long as to find it. */
export const minRememberedBytes = 2_048;
/** Minimum number of elements: an array with fewer is rarely a conversation. */
const minElements = 3;
/** Maximum size of a remembered array: a longer one would push out too many others. */
const maxArrayBytes = 256 * 1024;
/** Maximum size in bytes of the whole memory, enough for some hundred conversations. */
const maxBytes = 8 * 1024 * 1024;
/** Memory of an element in addition to its text, so an array of many small elements is not underestimated. */
const elementBytes = 64;
/** Length of the prefix by which arrays are looked up. */
const keyBytes = 512;
/**
 * Minimum share of an array that must be new before it is stored again: copying it at every step would take longer than
 * parsing a few elements again.
 */
const minNewPart = 1 / 8;
/** Maximum number of arrays with the same beginning, such as conversations with the same system prompt. */
const maxAlike = 4;

interface Entry<Value> {
  readonly owner: string;
  /** Text of the array from its opening bracket to the end of its last element. */
  readonly text: Buffer;
  readonly values: readonly Value[];
  /** End positions of the first elements, or of all; computed when another array begins in the same way. */
  readonly ends: number[];
  /** Memory of the array in bytes, with everything stored for it; 0 once the array is forgotten. */
  size: number;
}

/** A handle for an array in the memory; its size is 0 once the memory has forgotten the array. */
export type RememberedArray = Pick<Entry<unknown>, "size">;

/** The elements at the beginning of an array that are known from an earlier one. */
export interface KnownElements<Value> {
  /** Values of the known elements; elements of the earlier array may follow. */
  readonly values: readonly Value[];
  /** Number of known elements, at least 1. */
  readonly count: number;
  /** Number of bytes from the opening bracket to the end of the last known element. */
  readonly length: number;
  /** End positions of the first elements, relative to the opening bracket. */
  readonly ends: readonly number[];
}

export class ArrayMemory<Value> {
  /** Arrays by owner and beginning; the least recently used come first. */
  readonly #alike = new Map<number, Entry<Value>[]>();
  #newest: readonly Entry<Value>[] | undefined = undefined;
  #size = 0;

  /**
   * Finds the known elements at the beginning of an array.
   * @param owner only its arrays are searched: otherwise response times would reveal the content of other owners'
   * arrays
   * @param start position of the opening bracket
   */
  find(owner: string, bytes: Buffer, start: number): KnownElements<Value> | undefined {
    if (bytes.length - start < minRememberedBytes) return undefined;
    const key = keyOf(owner, bytes, start);
    const alike = this.#alike.get(key);
    if (alike === undefined) return undefined;
    this.#use(key, alike);
    let known: KnownElements<Value> | undefined;
    for (let index = alike.length - 1; index >= 0; index--) {
      const entry = alike[index]!;
      const found = entry.owner === owner ? knownIn(entry, bytes, start) : undefined;
      if (found && found.count > (known?.count ?? 0)) known = found;
      if (known !== undefined && known.count === known.values.length) break;
    }
    return known;
  }

  /**
   * Remembers an array whose values were parsed without a problem.
   * @param text from the opening bracket to the end of the last element; it is copied
   * @param known result of `find` for this array
   * @param ends end positions of the first elements, or of all, relative to the bracket
   * @returns undefined when the array is not remembered, for example because most of it already is
   */
  keep(
    owner: string,
    text: Buffer,
    values: readonly Value[],
    known: KnownElements<Value> | undefined,
    ends: number[] = [],
  ): RememberedArray | undefined {
    if (text.length < minRememberedBytes || text.length > maxArrayBytes || values.length < minElements)
      return undefined;
    if (known && isMostlyKnown(known, text.length)) return undefined;
    const key = keyOf(owner, text, 0);
    const alike = this.#alike.get(key) ?? [];
    const before =
      known && 2 * known.count >= known.values.length
        ? alike.findIndex(({ ends: others }) => others === known.ends)
        : -1;
    // An array that shares at least half of the elements belongs to the same conversation, and is replaced by the new
    // one.
    if (before !== -1) this.#forget(alike.splice(before, 1)[0]!);
    else if (alike.length === maxAlike) this.#forget(alike.shift()!);
    const entry = { owner, text: Buffer.from(text), values, ends, size: 0 };
    alike.push(entry);
    this.#use(key, alike);
    this.#grow(entry, text.length + elementBytes * values.length);
    return entry;
  }

  /** Counts further bytes, which are kept as long as the array. */
  grow(array: RememberedArray, bytes: number): void {
    if (array.size > 0) this.#grow(array, bytes);
  }

  #grow(array: RememberedArray, bytes: number): void {
    array.size += bytes;
    this.#size += bytes;
    this.#forgetOldest();
  }

  #forget(array: RememberedArray): void {
    this.#size -= array.size;
    array.size = 0;
  }

  #forgetOldest(): void {
    for (const [oldest, entries] of this.#alike) {
      if (this.#size <= maxBytes) return;
      this.#alike.delete(oldest);
      for (const entry of entries) this.#forget(entry);
    }
  }

  #use(key: number, alike: Entry<Value>[]): void {
    if (alike === this.#newest) return;
    this.#alike.delete(key);
    this.#alike.set(key, alike);
    this.#newest = alike;
  }
}

/** Whether so much of an array is known that it need not be stored again. */
const isMostlyKnown = ({ length }: KnownElements<unknown>, bytes: number): boolean =>
  bytes - length < minNewPart * bytes;

const keyOf = (owner: string, bytes: Buffer, start: number): number =>
  crc32(bytes.subarray(start, start + keyBytes), crc32(owner));

function knownIn<Value>(entry: Entry<Value>, bytes: Buffer, start: number): KnownElements<Value> | undefined {
  const { text, values, ends } = entry;
  if (beginsWith(bytes, start, text, text.length)) {
    return { values, count: values.length, length: text.length, ends };
  }
  if (ends.length < values.length) addElementEnds(text, ends);
  let count = 0;
  // Binary search: the first `count` elements are equal, and the first `above` are not.
  for (let above = values.length; above - count > 1; ) {
    const middle = (count + above) >> 1;
    if (beginsWith(bytes, start, text, ends[middle - 1]!)) count = middle;
    else above = middle;
  }
  return count === 0 ? undefined : { values, count, length: ends[count - 1]!, ends };
}

/**
 * Whether the text at `start` has the same elements, and not only the same bytes: a number may continue after its first
 * digits.
 */
function beginsWith(bytes: Buffer, start: number, text: Buffer, length: number): boolean {
  const end = start + length;
  if (end >= bytes.length) return false;
  const next = bytes[end]!;
  if (next !== comma && next !== closeBracket && spaceBytes[next] !== 1) return false;
  return text.compare(bytes, start, end, 0, length) === 0;
}
