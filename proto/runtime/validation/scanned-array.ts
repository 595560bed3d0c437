/** The elements of an array that was scanned. Those with which an array of the same owner has begun before are the same objects. */

export class ScannedElement {
  /** Values and keys from the beginning of the array to the end of the element. */
  readonly tokens: number;
  /**
   * What the reader of a body has made of the element. It may depend on the elements before, which are always the same ones. Each reader
   * knows its own readings by their class.
   */
  reading: object | undefined = undefined;

  constructor(tokens: number) {
    this.tokens = tokens;
  }
}

export interface ScannedArray {
  readonly elements: readonly ScannedElement[];
  /** Places after the elements, from the bracket of the array on. */
  readonly ends: readonly number[];
  /**
   * Counts the bytes of the readings as remembered; present where the elements will be found again by their next reader. Elsewhere a
   * reading is of no use.
   */
  readonly remember: ((bytes: number) => void) | undefined;
}
