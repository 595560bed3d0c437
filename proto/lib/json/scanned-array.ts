/** The elements of a scanned array. Elements shared with the beginning of an earlier array of the same owner are the same objects. */

export class ScannedElement {
  /** Values and keys from the beginning of the array to the end of the element. */
  readonly tokens: number;
  /**
   * The body reader's result for the element. It may depend on the preceding elements, which are always the same. Each reader recognizes its own results by
   * their class.
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
  /** Counts the bytes of the readings as remembered; present when the next reader will find the elements again. Otherwise storing a reading is useless. */
  readonly remember: ((bytes: number) => void) | undefined;
}
