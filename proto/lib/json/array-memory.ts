/**
 * Remembers arrays of JSON texts by their bytes. An agent sends its conversation again with every step: all elements except the last were read before, and
 * are recognized by comparing bytes.
 */
import { crc32 } from "node:zlib";
import { closeBracket, comma, spaceBytes } from "./bytes.ts";
import { addElementEnds } from "./span.ts";

/** Reading a shorter array costs about as much as finding it. */
export const minRememberedBytes = 2_048;
/** Shorter arrays are rarely conversations. */
const minElements = 3;
/** A longer array would push out too many others. */
const maxArrayBytes = 256 * 1024;
/** Maximum size of the whole memory: some hundred conversations. */
const maxBytes = 8 * 1024 * 1024;
/** Overhead of an element in addition to its text, so that an array of many small elements is not counted too low. */
const elementBytes = 64;
/** Length of the prefix by which arrays are looked up. */
const keyBytes = 512;
/** Minimum new part of an array before it is stored again: copying at every step would cost more than reading a few elements again. */
const minNewPart = 1 / 8;
/** Arrays with the same beginning, such as conversations with the same system prompt. */
const maxAlike = 4;

interface Entry<Value> {
  readonly owner: string;
  /** The array from its bracket to the end of its last element. */
  readonly text: Buffer;
  readonly values: readonly Value[];
  /** Ends of the first elements, or of all. They are computed when another array begins in the same way. */
  readonly ends: number[];
  /** Bytes of the text and of everything stored with it; 0 once the array is forgotten. */
  size: number;
}

/** A handle for an array in the memory; its size is 0 once the memory has forgotten the array. */
export type RememberedArray = Pick<Entry<unknown>, "size">;

/** The known elements at the beginning of an array. */
export interface KnownElements<Value> {
  /** Values of these elements, and perhaps of later elements. */
  readonly values: readonly Value[];
  /** At least one. */
  readonly count: number;
  /** Bytes from the bracket to the end of the last known element. */
  readonly length: number;
  /** Ends of the first elements of the remembered array, from its bracket on. */
  readonly ends: readonly number[];
}

export class ArrayMemory<Value> {
  /** Arrays by owner and beginning, the least recently used first. */
  readonly #alike = new Map<number, Entry<Value>[]>();
  #newest: readonly Entry<Value>[] | undefined = undefined;
  #size = 0;

  /**
   * @param owner restricts the search to this owner's arrays: otherwise response times would reveal the content of others
   * @param start place of the bracket
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
   * Remembers an array whose values were read without a problem.
   * @param text from its bracket to the end of its last element; copied
   * @param known the result of `find` for this array
   * @param ends of the first elements, or of all, from the bracket on
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
    // A known array sharing at least half of the elements belongs to the same conversation, and is replaced.
    if (before !== -1) this.#forget(alike.splice(before, 1)[0]!);
    else if (alike.length === maxAlike) this.#forget(alike.shift()!);
    const entry = { owner, text: Buffer.from(text), values, ends, size: 0 };
    alike.push(entry);
    this.#use(key, alike);
    this.#grow(entry, text.length + elementBytes * values.length);
    return entry;
  }

  /** Counts further bytes, kept as long as the array is. */
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

/** Whether an array of this length need not be stored again. */
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
  // The first `count` elements are the same, and those up to `above` are not.
  for (let above = values.length; above - count > 1; ) {
    const middle = (count + above) >> 1;
    if (beginsWith(bytes, start, text, ends[middle - 1]!)) count = middle;
    else above = middle;
  }
  return count === 0 ? undefined : { values, count, length: ends[count - 1]!, ends };
}

/** Whether the same elements occur there: a number may continue after its first digits. */
function beginsWith(bytes: Buffer, start: number, text: Buffer, length: number): boolean {
  const end = start + length;
  if (end >= bytes.length) return false;
  const next = bytes[end]!;
  if (next !== comma && next !== closeBracket && spaceBytes[next] !== 1) return false;
  return text.compare(bytes, start, end, 0, length) === 0;
}
