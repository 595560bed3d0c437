/**
 * Takes the disguises off a text that comes in pieces, as `input/normal.ts` does with whole ones: escapes, other forms of letters, characters that
 * nobody sees; then letters of other scripts, and gaps between letters. Kept back is only what the next character can change: an escape that may go
 * on, and the gaps behind letters that stand apart. What is made does not depend on how the text is cut.
 */
import { lookalikes } from "../input/lookalikes.ts";
import { tagged } from "../input/normal.ts";
import { escapeIn, longestEscape } from "./escapes.ts";

/** A stretch of a text with what it says in each form; the very same string where that is what it is. */
export interface Undisguised {
  readonly raw: string;
  readonly plain: string;
  readonly squeezed: string;
  /** Nothing is something else but letters that only machines read. */
  readonly revealed: string;
}

const asItIs = (text: string): Undisguised => ({ raw: text, plain: text, squeezed: text, revealed: text });

const gap = /^[ \t._*|\-+/~]$/;

/** What a unit is when it comes behind nothing that is held back. */
const kind = { disguise: 0, letter: 1, digit: 2, gap: 3, other: 4 } as const;
const kinds = Uint8Array.from({ length: 128 }, (_, unit) => {
  const character = String.fromCharCode(unit);
  if (/[%\\]/.test(character)) return kind.disguise;
  if (/[A-Za-z]/.test(character)) return kind.letter;
  if (/\d/.test(character)) return kind.digit;
  return gap.test(character) ? kind.gap : kind.other;
});

const kindOf = (unit: number): number => (unit < 128 ? (kinds[unit] as number) : kind.disguise);

/** Words of several letters and what stands between them. */
const words = /(?:[A-Za-z0-9]{2,}|[^A-Za-z0-9%\\\x80-\uffff])+/y;

const invisible = /^\p{Default_Ignorable_Code_Point}$/u;
/** So many of them in a row are no disguise: a word ends there, so that little is held for them. */
const mostInvisible = 16;

const letter = /^\p{L}$/u;
const goesOnAsWord = /^[\p{L}\p{N}\p{M}]/u;
const endsAsWord = /[\p{L}\p{N}]$/u;

/** A character in either form, and what it is in the second one. */
interface Character {
  readonly isInvisible: boolean;
  readonly plain: string;
  readonly squeezed: string;
  readonly isLetter: boolean;
  readonly isGap: boolean;
  readonly goesOnAsWord: boolean;
  readonly endsAsWord: boolean;
}

function read(said: string, plain: string): Character {
  const squeezed = lookalikes.in(plain);
  return {
    isInvisible: invisible.test(said),
    plain,
    squeezed,
    isLetter: letter.test(squeezed),
    isGap: gap.test(squeezed),
    goesOnAsWord: goesOnAsWord.test(squeezed),
    endsAsWord: endsAsWord.test(squeezed),
  };
}

/** Those of some scripts; what does not fit is forgotten with all the rest. */
const mostKnown = 8_192;
const known = new Map<string, Character>();

function characterOf(said: string): Character {
  const before = known.get(said);
  if (before) return before;
  const character = read(said, invisible.test(said) ? "" : said.normalize("NFKC"));
  if (known.size === mostKnown) known.clear();
  known.set(said, character);
  return character;
}

/** Letters in a row from which on they are one word. */
const shortestRun = 4;

export class Undisguiser {
  #made: Undisguised[] = [];
  /** Not read yet. */
  #rest = "";
  #invisible = 0;
  /** Whether the last character was a letter or number. */
  #inWord = false;
  /** Letters of the run under way, the first of which was given out; 0 when there is none. */
  #run = 0;
  /** Behind them, in turn a gap and a letter that may still turn out to be part of a word. */
  #waiting: Undisguised[] = [];
  #open: "letter" | "gap" | undefined;

  /** UTF-16 units that were not given out. */
  get held(): number {
    return this.#waiting.reduce((sum, { raw }) => sum + raw.length, this.#rest.length);
  }

  /** Reads on when nothing is held back, there is nothing in the text that could be something else, and no letter of it stands apart. */
  passes(text: string): boolean {
    if (this.#rest !== "" || this.#run > 0) return false;
    let inWord = this.#inWord;
    for (let index = 0; index < text.length; index++) {
      const is = kindOf(text.charCodeAt(index));
      if (is === kind.disguise) return false;
      if (is === kind.letter && !inWord) {
        const next = index + 1 === text.length ? kind.gap : kindOf(text.charCodeAt(index + 1));
        if (next === kind.gap) return false;
      }
      inWord = is === kind.letter || is === kind.digit;
    }
    this.#inWord = inWord;
    this.#invisible = 0;
    return true;
  }

  push(text: string): readonly Undisguised[] {
    if (this.passes(text)) return text === "" ? [] : [asItIs(text)];
    this.#read(this.#rest + text, false);
    return this.#take();
  }

  end(): readonly Undisguised[] {
    this.#read(this.#rest, true);
    if (this.#open === "letter") this.#confirm();
    this.#leave();
    return this.#take();
  }

  #take(): readonly Undisguised[] {
    const made = this.#made;
    this.#made = [];
    return made;
  }

  #read(text: string, over: boolean): void {
    let at = 0;
    while (at < text.length) {
      const raw = this.#next(text, at, over);
      if (raw === undefined) break;
      at += raw.length;
    }
    this.#rest = text.slice(at);
  }

  /** The next words, or character, or what stands for one; undefined when it may go on. */
  #next(text: string, at: number, over: boolean): string | undefined {
    words.lastIndex = at;
    const whole = this.#run === 0 ? words.exec(text)?.[0] : undefined;
    if (whole !== undefined) return this.#putWords(whole);
    const unit = text.charCodeAt(at);
    if (unit === 0x25 || unit === 0x5c) return this.#escaped(text, at, over);
    if (unit < 0x80) return this.#put(text.charAt(at));
    const isHalf = unit >= 0xd800 && unit <= 0xdbff;
    if (isHalf && at + 1 === text.length && !over) return undefined;
    const raw = String.fromCodePoint(text.codePointAt(at) as number);
    return this.#put(raw);
  }

  #escaped(text: string, at: number, over: boolean): string | undefined {
    const escape = escapeIn(text.slice(at, at + longestEscape));
    if (escape === "open" && !over) return undefined;
    if (escape === undefined || escape === "open") return this.#put(text.charAt(at));
    return this.#put(text.slice(at, at + escape.length), escape.said);
  }

  #putWords(said: string): string {
    this.#made.push(asItIs(said));
    this.#inWord = endsAsWord.test(said);
    this.#invisible = 0;
    return said;
  }

  /** @param said the character that it stands for */
  #put(raw: string, said = raw): string {
    let character = characterOf(said);
    this.#invisible = character.isInvisible ? this.#invisible + 1 : 0;
    if (this.#invisible > mostInvisible) character = read(said, said);
    const { plain, squeezed } = character;
    const made = {
      raw,
      plain: plain === raw ? raw : plain,
      squeezed: squeezed === raw ? raw : squeezed,
      revealed: tagged(raw) ?? raw,
    };
    // What says nothing stands between no two letters.
    if (plain === "") this.#follow(made);
    else this.#draw(made, character);
    return raw;
  }

  /** Draws letters together that stand apart. */
  #draw(made: Undisguised, character: Character): void {
    if (this.#run > 0 && this.#goesOn(made, character)) return;
    if (!this.#inWord && character.isLetter) this.#run = 1;
    this.#inWord = character.endsAsWord;
    this.#made.push(made);
  }

  /** Whether it belongs to the run; otherwise that is over. */
  #goesOn(made: Undisguised, character: Character): boolean {
    if (this.#open === "letter" && !character.goesOnAsWord) this.#confirm();
    if (this.#open === "gap" && character.isLetter) return this.#wait(made, "letter");
    if (this.#open === undefined && character.isGap) return this.#wait(made, "gap");
    this.#inWord = this.#open !== "gap";
    this.#leave();
    return false;
  }

  #wait(made: Undisguised, open: "letter" | "gap"): true {
    this.#waiting.push(made);
    this.#open = open;
    return true;
  }

  /** The letter stands apart. */
  #confirm(): void {
    this.#run++;
    this.#open = undefined;
    if (this.#run < shortestRun) return;
    for (const each of this.#waiting) this.#made.push(gap.test(each.plain) ? { ...each, squeezed: "" } : each);
    this.#waiting = [];
  }

  #leave(): void {
    this.#made.push(...this.#waiting);
    this.#waiting = [];
    this.#run = 0;
    this.#open = undefined;
  }

  /** What says nothing belongs to what is before it. */
  #follow(made: Undisguised): void {
    (this.#waiting.length > 0 ? this.#waiting : this.#made).push(made);
  }
}
