/** Records the elements of arrays during the scan, and skips elements known from earlier scans. */
import { ArrayMemory, type KnownElements, minRememberedBytes } from "./array-memory.ts";
import { jsonLimits } from "./limits.ts";
import { type ScannedArray, ScannedElement } from "./scanned-array.ts";

export type ScannedArrays = ArrayMemory<ScannedElement>;

export const createScannedArrays = (): ScannedArrays => new ArrayMemory<ScannedElement>();

/** Tracks the arrays of one JSON text. */
export class ElementScan {
  readonly #memory: ScannedArrays;
  readonly #owner: string;
  readonly #bytes: Buffer;
  #known: KnownElements<ScannedElement> | undefined = undefined;
  /** Position of the opening bracket of the scanned array; -1 outside of arrays. */
  #start = -1;
  #tokensBefore = 0;
  #ends: number[] = [];
  #elements: ScannedElement[] = [];

  /** @param owner whose earlier arrays are compared */
  constructor(memory: ScannedArrays, owner: string, bytes: Buffer) {
    this.#memory = memory;
    this.#owner = owner;
    this.#bytes = bytes;
  }

  /** Position after the elements known from earlier scans; -1 for none. */
  get end(): number {
    return this.#known === undefined ? -1 : this.#start + this.#known.length;
  }

  /** Number of values and keys in the known elements. */
  get knownTokens(): number {
    return this.#known === undefined ? 0 : this.#known.values[this.#known.count - 1]!.tokens;
  }

  /** Begins an array. @param tokens number of values and keys before its elements */
  begin(start: number, tokens: number): void {
    this.#known = undefined;
    // The rest of the text is too short to contain a remembered array.
    if (this.#bytes.length - start < minRememberedBytes) return;
    const known = this.#memory.find(this.#owner, this.#bytes, start);
    this.#known = known;
    this.#start = start;
    this.#tokensBefore = tokens;
    this.#ends = known === undefined ? [] : known.ends.slice(0, known.count);
    this.#elements = known === undefined ? [] : known.values.slice(0, known.count);
  }

  /** Adds a scanned element. @param tokens number of values and keys up to its end */
  add(end: number, tokens: number): void {
    if (this.#start === -1) return;
    this.#ends.push(end - this.#start);
    this.#elements.push(new ScannedElement(tokens - this.#tokensBefore));
  }

  /** Ends the array and remembers it. @returns undefined after any other value, and for an empty array */
  finish(): ScannedArray | undefined {
    const start = this.#start;
    const elements = this.#elements;
    const ends = this.#ends;
    const last = elements.at(-1);
    this.#start = -1;
    if (start === -1 || last === undefined || last.tokens > jsonLimits.tokens) return undefined;
    const memory = this.#memory;
    const text = this.#bytes.subarray(start, start + ends.at(-1)!);
    const kept = memory.keep(this.#owner, text, elements, this.#known, ends);
    return { elements, ends, remember: kept && ((bytes) => memory.grow(kept, bytes)) };
  }
}
