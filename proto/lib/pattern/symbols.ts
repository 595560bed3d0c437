/**
 * The alphabet of a pattern: characters that are equivalent for it share a symbol. The native engine decides which
 * classes a character belongs to, once per character, so classes, properties and case mean exactly the same as in
 * JavaScript.
 */
import { contextOf } from "./context.ts";
import { PatternError } from "./refusal.ts";

/** Index into the list of all sets of characters that the pattern's instructions accept. */
export type AcceptIndex = number;

/** Number of a symbol, counted from 1. */
export type SymbolId = number;

type Kind =
  | { readonly type: "exact" | "folded"; readonly code: number }
  | { readonly type: "class"; readonly bit: number; readonly isBasic: boolean };

interface Known {
  readonly code: number;
  readonly folded: number;
  /** A digit for each class of the pattern: 1 if the character belongs to it, else 0. */
  readonly classes: string;
  readonly context: number;
}

const pageSize = 256;
const maxCode = 0x10ffff;
/** Characters of usual texts: ASCII, and letters, marks, digits and signs of some scripts. */
const usualCharacters = [
  ...Array.from({ length: 0x80 }, (_, code) => code),
  ...Array.from(
    "\u00a0\u00e9\u0131\u0301\u0391\u03b1\u0416\u0436\u05d0\u0661\u0915\u0967\u2014\u2028\u20ac\u3042\u4e2d\uac00\ufeff\u{1d400}\u{1f600}",
    (one) => one.codePointAt(0) as number,
  ),
];

/** Matches a class whose characters, and their other cases, evidently take one UTF-16 unit each. */
const basicClass = /^(?:\\[dws]|\[(?:\\u\{[\da-f]{1,4}\}|\\[dws]|-)+\])$/;
/** Letters below this code have no other case beyond the basic plane. */
const firstSurrogate = 0xd800;

/** Maximum number of classes: each is tested on every new character, which takes 0.1 microseconds. */
const maxClasses = 250;

export class Symbols {
  readonly #kinds: Kind[] = [];
  readonly #indices = new Map<string, AcceptIndex>();
  readonly #exact = new Set<number>();
  readonly #folded = new Set<number>();
  readonly #classes: RegExp[] = [];
  readonly #classIndices: AcceptIndex[] = [];
  /** Code points next to the ends of ranges. */
  readonly #edges = new Set<number>();
  /** Symbols by page and code point; 0 for a character that has not occurred yet. */
  readonly #pages: (Uint32Array | undefined)[] = [];
  readonly #known: Known[] = [{ code: -1, folded: -1, classes: "", context: 0 }];
  /** Acceptance table of each symbol, filled on first use. */
  readonly #acceptance: Uint8Array[] = [];
  readonly #bySignature = new Map<string, SymbolId>();
  /** Context bits that the pattern's assertions test. */
  mask = 0;

  /** Number of classes in the pattern. */
  get classes(): number {
    return this.#classes.length;
  }

  character(code: number, ignoreCase: boolean): AcceptIndex {
    const type = ignoreCase ? "folded" : "exact";
    const value = ignoreCase ? fold(code) : code;
    (ignoreCase ? this.#folded : this.#exact).add(value);
    return this.#index(`${type} ${value}`, () => ({ type, code: value }));
  }

  /** Adds a class. @param source the class in the syntax of the flag u */
  class(source: string, flags: string): AcceptIndex {
    return this.#index(`${flags} ${source}`, () => {
      if (this.#classes.length === maxClasses) throw new PatternError(`too complex: more than ${maxClasses} classes`);
      const bit = this.#classes.push(new RegExp(`^${source}$`, flags)) - 1;
      for (const [, hex = ""] of source.matchAll(/\\u\{([\da-f]+)\}/g)) {
        const code = Number.parseInt(hex, 16);
        for (const near of [code - 1, code, code + 1]) if (near >= 0 && near <= maxCode) this.#edges.add(near);
      }
      return { type: "class", bit, isBasic: basicClass.test(source) };
    });
  }

  #index(name: string, make: () => Kind): AcceptIndex {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    const kind = make();
    const index = this.#kinds.push(kind) - 1;
    if (kind.type === "class") this.#classIndices.push(index);
    this.#indices.set(name, index);
    return index;
  }

  /**
   * Symbols that represent all others: of all characters in the pattern, of those next to its ranges, and of members of
   * each of its classes.
   */
  examples(): readonly SymbolId[] {
    const codes = new Set([...this.#exact, ...this.#folded, ...this.#edges, ...usualCharacters]);
    for (const members of this.#classes) {
      const isMember = (code: number): boolean => members.test(String.fromCodePoint(code));
      if ([...codes].some(isMember)) continue;
      let code = 0;
      while (code <= maxCode && !isMember(code)) code++;
      if (code <= maxCode) codes.add(code);
    }
    return [...new Set([...codes].map((code) => this.symbolOf(code)))];
  }

  symbolOf(code: number): SymbolId {
    return this.#pages[code >> 8]?.[code & (pageSize - 1)] || this.#learn(code);
  }

  /** For each `AcceptIndex`, 1 if the symbol is accepted, else 0. */
  acceptance(symbol: SymbolId): Uint8Array {
    const { code, folded, classes } = this.#known[symbol] as Known;
    return (this.#acceptance[symbol] ??= Uint8Array.from(this.#kinds, (kind) => {
      if (kind.type === "class") return classes[kind.bit] === "1" ? 1 : 0;
      return kind.code === (kind.type === "exact" ? code : folded) ? 1 : 0;
    }));
  }

  /** All sets of characters that contain the symbol, found without a comparison with every character in the pattern. */
  acceptedBy(symbol: SymbolId): readonly AcceptIndex[] {
    const { code, folded, classes } = this.#known[symbol] as Known;
    const named = [this.#indices.get(`exact ${code}`), this.#indices.get(`folded ${folded}`)];
    const members = this.#classIndices.filter((_, bit) => classes[bit] === "1");
    return [...named.filter((index) => index !== undefined), ...members];
  }

  /** Number of UTF-16 units that every accepted character takes; undefined when it differs, or may differ. */
  widthOf(accepted: AcceptIndex): number | undefined {
    const kind = this.#kinds[accepted] as Kind;
    if (kind.type === "class") return kind.isBasic ? 1 : undefined;
    if (kind.code < firstSurrogate) return 1;
    if (kind.type === "folded") return undefined;
    return kind.code > 0xffff ? 2 : 1;
  }

  contextOf(symbol: SymbolId): number {
    return (this.#known[symbol] as Known).context;
  }

  #learn(code: number): SymbolId {
    const known = this.#look(code);
    const { classes, context } = known;
    const signature = `${known.code} ${known.folded} ${context} ${classes}`;
    let symbol = this.#bySignature.get(signature);
    if (symbol === undefined) {
      symbol = this.#known.push(known) - 1;
      this.#bySignature.set(signature, symbol);
    }
    const page = (this.#pages[code >> 8] ??= new Uint32Array(pageSize));
    page[code & (pageSize - 1)] = symbol;
    return symbol;
  }

  #look(code: number): Known {
    const character = String.fromCodePoint(code);
    const folded = this.#folded.size > 0 ? fold(code) : -1;
    return {
      code: this.#exact.has(code) ? code : -1,
      folded: this.#folded.has(folded) ? folded : -1,
      classes: this.#classes.map((members) => (members.test(character) ? "1" : "0")).join(""),
      context: contextOf(character) & this.mask,
    };
  }
}

/**
 * Maps characters that are equal under the flags i and u to one of them. Folding upper to lower case joins characters
 * that have several lower-case forms; the engine itself rejects folds to another letter (\u0131 to i).
 */
function fold(code: number): number {
  const character = String.fromCodePoint(code);
  const upper = character.toUpperCase();
  for (const candidate of [upper.toLowerCase(), character.toLowerCase()]) {
    const folded = candidate.codePointAt(0) as number;
    if (folded === code) return code;
    if (candidate === String.fromCodePoint(folded) && same(character, folded)) return folded;
  }
  return code;
}

const same = (character: string, code: number): boolean =>
  new RegExp(`^\\u{${code.toString(16)}}$`, "iu").test(character);
