/** Notes the elements of arrays while they are scanned, and leaps over those that were scanned before. */
import { ArrayMemory, type KnownElements, isMostlyKnown } from "./array-memory.ts";
import { jsonLimits } from "./json-limits.ts";

/** Number of values and keys from the beginning of an array to the end of each element. */
export type ScannedArrays = ArrayMemory<number>;

export const createScannedArrays = (): ScannedArrays => new ArrayMemory<number>();

/** The arrays of one text. */
export class ElementScan {
  readonly #memory: ScannedArrays;
  readonly #owner: string;
  readonly #bytes: Buffer;
  #known: KnownElements<number> | undefined = undefined;
  /** Place of the array that is scanned; -1 between two of them. */
  #start = -1;
  #tokensBefore = 0;
  #ends: number[] = [];
  #tokens: number[] = [];

  /** @param owner whose texts are compared with this one */
  constructor(memory: ScannedArrays, owner: string, bytes: Buffer) {
    this.#memory = memory;
    this.#owner = owner;
    this.#bytes = bytes;
  }

  /** Place after the elements that were scanned before; -1 when there are none. */
  get end(): number {
    return this.#known === undefined ? -1 : this.#start + this.#known.length;
  }

  /** Values and keys of these elements. */
  get knownTokens(): number {
    return this.#known === undefined ? 0 : this.#known.values[this.#known.count - 1]!;
  }

  /** @param tokens values and keys before the elements */
  begin(start: number, tokens: number): void {
    const known = this.#memory.find(this.#owner, this.#bytes, start);
    this.#known = known;
    this.#start = start;
    this.#tokensBefore = tokens;
    this.#ends = [];
    this.#tokens = [];
  }

  /** Adds an element that was scanned. @param tokens values and keys up to its end */
  add(end: number, tokens: number): void {
    if (this.#start === -1) return;
    this.#ends.push(end - this.#start);
    this.#tokens.push(tokens - this.#tokensBefore);
  }

  /** Remembers the array, whose end has been reached. */
  finish(): void {
    const start = this.#start;
    const last = this.#ends.at(-1);
    this.#start = -1;
    if (start === -1 || last === undefined || this.#tokens.at(-1)! > jsonLimits.tokens) return;
    const known = this.#known;
    const text = this.#bytes.subarray(start, start + last);
    if (known === undefined) return void this.#memory.keep(this.#owner, text, this.#tokens, known, this.#ends);
    if (isMostlyKnown(known, last)) return;
    const ends = known.ends.slice(0, known.count);
    const values = known.values.slice(0, known.count);
    for (const end of this.#ends) ends.push(end);
    for (const count of this.#tokens) values.push(count);
    this.#memory.keep(this.#owner, text, values, known, ends);
  }
}
