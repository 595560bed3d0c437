/**
 * The alphabet of one pattern: characters between which it makes no difference are one symbol. What belongs to a class is asked of the native
 * engine, one character at a time and each once, so that classes, properties and case mean exactly what they mean in JavaScript.
 */
import { contextOf } from "./context.ts";
import { fold } from "./fold.ts";
import { PatternError } from "./refusal.ts";

/** What an instruction accepts: an index into what the pattern accepts anywhere. */
export type Accepted = number;

/** Counts from 1. */
export type SymbolId = number;

type Kind =
  | { readonly type: "exact" | "folded"; readonly code: number }
  | { readonly type: "class"; readonly bit: number };

interface Known {
  readonly code: number;
  readonly folded: number;
  /** Of each class 1 when it is in it, else 0. */
  readonly classes: string;
  readonly context: number;
}

const pageSize = 256;

/** Each is asked about every new character: a tenth of a microsecond. */
const maxClasses = 250;

export class Symbols {
  readonly #kinds: Kind[] = [];
  readonly #indices = new Map<string, Accepted>();
  readonly #exact = new Set<number>();
  readonly #folded = new Set<number>();
  readonly #classes: RegExp[] = [];
  /** By code point; 0 until it was seen. */
  readonly #pages: (Uint32Array | undefined)[] = [];
  readonly #known: Known[] = [{ code: -1, folded: -1, classes: "", context: 0 }];
  /** By symbol, as far as they were asked for. */
  readonly #acceptance: Uint8Array[] = [];
  readonly #bySignature = new Map<string, SymbolId>();
  /** Bits of the context that some assertion looks at. */
  mask = 0;

  /** How many classes there are. */
  get classes(): number {
    return this.#classes.length;
  }

  character(code: number, ignoreCase: boolean): Accepted {
    const type = ignoreCase ? "folded" : "exact";
    const value = ignoreCase ? fold(code) : code;
    (ignoreCase ? this.#folded : this.#exact).add(value);
    return this.#index(`${type} ${value}`, () => ({ type, code: value }));
  }

  /** @param source of one class, in the syntax of the flag u */
  class(source: string, flags: string): Accepted {
    return this.#index(`${flags} ${source}`, () => {
      if (this.#classes.length === maxClasses) throw new PatternError(`too complex: more than ${maxClasses} classes`);
      const bit = this.#classes.push(new RegExp(`^${source}$`, flags)) - 1;
      return { type: "class", bit };
    });
  }

  #index(name: string, make: () => Kind): Accepted {
    const known = this.#indices.get(name);
    if (known !== undefined) return known;
    const index = this.#kinds.push(make()) - 1;
    this.#indices.set(name, index);
    return index;
  }

  of(code: number): SymbolId {
    return this.#pages[code >> 8]?.[code & (pageSize - 1)] || this.#learn(code);
  }

  /** Of everything that the pattern accepts anywhere, 1 when the symbol is it, else 0. */
  acceptance(symbol: SymbolId): Uint8Array {
    const { code, folded, classes } = this.#known[symbol] as Known;
    return (this.#acceptance[symbol] ??= Uint8Array.from(this.#kinds, (kind) => {
      if (kind.type === "class") return classes[kind.bit] === "1" ? 1 : 0;
      return kind.code === (kind.type === "exact" ? code : folded) ? 1 : 0;
    }));
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
