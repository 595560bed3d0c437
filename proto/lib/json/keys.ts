/** Reads and compares the keys of a JSON text as bytes. */

/** Decodes a JSON string with quotes at `start` and `end`. @param escaped whether it may contain escapes */
export const decodeString = (bytes: Buffer, start: number, end: number, escaped: boolean): string =>
  escaped ? (JSON.parse(bytes.toString("utf8", start, end)) as string) : bytes.toString("utf8", start + 1, end - 1);

/** Number of keys up to which an object's keys are compared directly; more are compared by hash. */
const maxComparedKeys = 16;

/** An object being scanned, whose keys must be distinct. */
export interface KeyedObject {
  /** Position of its first key in the list of keys; -1 when keys may repeat. */
  firstKey: number;
  /** All keys decoded, used once there are many or one contains escapes. */
  decoded: Set<string> | undefined;
}

/**
 * Keys of the objects being scanned, in one list: a list for each object took a fifth of the memory of a request of 20
 * KB. Most objects have few keys without escapes; these are compared as bytes, without decoding.
 */
export class OpenKeys {
  readonly #bytes: Buffer;
  /** Start and end position of each key; keys of the innermost object come last. */
  readonly #spans: number[] = [];
  #length = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  begin(object: KeyedObject): void {
    object.firstKey = this.#length;
  }

  /** Removes the keys of the innermost object. */
  end({ firstKey }: KeyedObject): void {
    if (firstKey !== -1) this.#length = firstKey;
  }

  /** Adds a key to the innermost object. @returns false when the object already has the key */
  add(object: KeyedObject, start: number, end: number, escaped: boolean): boolean {
    const { firstKey } = object;
    if (escaped || this.#length - firstKey === 2 * maxComparedKeys) object.decoded ??= this.#decode(firstKey);
    const { decoded } = object;
    if (decoded) return decoded.size !== decoded.add(decodeString(this.#bytes, start, end, escaped)).size;
    const spans = this.#spans;
    for (let at = firstKey; at < this.#length; at += 2) {
      const other = spans[at]!;
      if (spans[at + 1]! - other === end - start && isSame(this.#bytes, other, start, end)) return false;
    }
    spans[this.#length++] = start;
    spans[this.#length++] = end;
    return true;
  }

  #decode(from: number): Set<string> {
    const keys = new Set<string>();
    for (let at = from; at < this.#length; at += 2) {
      keys.add(decodeString(this.#bytes, this.#spans[at]!, this.#spans[at + 1]!, false));
    }
    return keys;
  }
}

function isSame(bytes: Buffer, other: number, start: number, end: number): boolean {
  let at = start;
  while (at < end && bytes[at] === bytes[other + at - start]) at++;
  return at === end;
}
