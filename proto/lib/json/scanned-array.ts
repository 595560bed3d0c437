/**
 * An element of a scanned array. If an earlier array of the same owner began with the same elements, both share these
 * objects.
 */

export class ScannedElement {
  /** Number of values and keys from the beginning of the array to the end of the element. */
  readonly tokens: number;
  /**
   * Result of parsing the element for a request. It may depend on the preceding elements, which are the same whenever
   * the element is shared. Each parser recognizes its own results by their class.
   */
  reading: object | undefined = undefined;

  constructor(tokens: number) {
    this.tokens = tokens;
  }
}

export interface ScannedArray {
  readonly elements: readonly ScannedElement[];
  /** End positions of the elements, relative to the opening bracket. */
  readonly ends: readonly number[];
  /**
   * Counts bytes of parsing results as remembered; undefined when no later request will find the elements, so results
   * need not be stored.
   */
  readonly remember: ((bytes: number) => void) | undefined;
}
