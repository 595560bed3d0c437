/**
 * Removes disguises from streamed text, as `input/normalize.ts` and `input/strip-markup.ts` do for complete texts. Held
 * back is only text whose form the next characters can change: an escape or markup that may continue, and the gaps
 * after single letters. The result does not depend on how the text is divided into deltas.
 */
import { readEscape, maxEscapeLength } from "../../disguises/escapes.ts";
import { readMarkup, markupStarts, maxMarkupLength } from "../../disguises/markup.ts";
import { decodeTag } from "../../input/normalize.ts";
import {
  type Deobfuscated,
  characterOf,
  maxInvisibleCharacters,
  readCharacter,
  toUnitKind,
  unchangedText,
  unitKind,
} from "./characters.ts";
import { LetterRun } from "./letter-run.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Matches whole words and the signs between them, which are equal in all forms. Names in snake case count as one word. */
const words = /(?:[A-Za-z0-9]{2,}(?:_[A-Za-z0-9]{2,})*|[\t\n\r !"#$'()+,\-./:;=>?@^{|}])+/y;
const underscore = 0x5f;
const endsAsWord = /[\p{L}\p{N}]$/u;
const escapeSigns = "%&\\";

/** Kind of the unit at an index; the end of the text counts as a gap. @param length length of the text */
const kindAt = (text: string, index: number, length: number): number =>
  index < length ? toUnitKind(unitAt(text, index)) : unitKind.gap;

const isOfWord = (kind: number): boolean => kind === unitKind.letter || kind === unitKind.digit;

/** Whether no spelled-out word begins with this letter: no gap follows, or a whole word or a sign follows the gap. */
function isSingle(text: string, behind: number): boolean {
  const { length } = text;
  let at = behind;
  while (at < length && (kindAt(text, at, length) === unitKind.gap || unitAt(text, at) === underscore)) at++;
  if (at === length) return false;
  return kindAt(text, at, length) !== unitKind.letter || isOfWord(kindAt(text, at + 1, length));
}

export class Deobfuscator {
  #output: Deobfuscated[] = [];
  /** Text pushed and is not read yet. */
  #rest = "";
  #invisible = 0;
  /** Number of UTF-16 units in the current run of markup. */
  #markupLength = 0;
  /** Whether the last character was a letter or digit, or an underscore after one. */
  #isAfterWord = false;
  readonly #run = new LetterRun((piece) => this.#output.push(piece));

  /** Whether text was pushed that is not yet given out. */
  get holds(): boolean {
    return this.#rest !== "" || this.#run.holds;
  }

  /**
   * Whether the text can be taken unchanged: nothing is held back, and it contains no possible disguise and no letter
   * at which a spelled-out word could begin. In this case it counts as read.
   */
  passes(text: string): boolean {
    if (this.#rest !== "" || this.#run.isOpen) return false;
    // An underscore that follows markup is markup as well, even between letters of one word.
    if (unitAt(text, 0) === underscore && !this.#isAfterWord) return false;
    let { inWord } = this.#run;
    const { length } = text;
    let next = kindAt(text, 0, length);
    for (let index = 0; index < length; index++) {
      const is = next;
      next = kindAt(text, index + 1, length);
      if (is === unitKind.letter) {
        if (!inWord && !isOfWord(next) && !isSingle(text, index + 1)) return false;
        inWord = true;
      } else {
        if (is === unitKind.disguise && !(inWord && unitAt(text, index) === underscore && isOfWord(next))) return false;
        inWord = is === unitKind.digit;
      }
    }
    if (text !== "") this.#noteUnchanged(inWord);
    return true;
  }

  push(text: string): readonly Deobfuscated[] {
    if (this.passes(text)) return text === "" ? [] : [unchangedText(text)];
    this.#read(this.#rest + text, false);
    return this.#takeOutput();
  }

  end(): readonly Deobfuscated[] {
    this.#read(this.#rest, true);
    this.#run.end();
    return this.#takeOutput();
  }

  #takeOutput(): readonly Deobfuscated[] {
    const piece = this.#output;
    this.#output = [];
    return piece;
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

  /** Reads the next words, character or escape. @returns undefined when more text may extend it */
  #next(text: string, at: number, over: boolean): string | undefined {
    words.lastIndex = at;
    const whole = this.#run.isOpen ? undefined : words.exec(text)?.[0];
    if (whole !== undefined) return this.#putWords(whole);
    const unit = unitAt(text, at);
    if (unit < 0x80) return this.#readSign(text, at, over);
    const isHalf = unit >= 0xd800 && unit <= 0xdbff;
    if (isHalf && at + 1 === text.length && !over) return undefined;
    const raw = String.fromCodePoint(text.codePointAt(at) as number);
    return this.#put(raw);
  }

  #readSign(text: string, at: number, over: boolean): string | undefined {
    const sign = text.charAt(at);
    if (escapeSigns.includes(sign)) {
      const escape = readEscape(text.slice(at, at + maxEscapeLength), over);
      if (escape === "open") return undefined;
      if (escape) return this.#put(text.slice(at, at + escape.length), escape.decoded);
    }
    if (!markupStarts.includes(sign)) return this.#put(sign);
    const markup = readMarkup(text.slice(at, at + maxMarkupLength), over, this.#isAfterWord);
    if (markup === "open") return undefined;
    return markup ? this.#putMarkup(text.slice(at, at + markup.length), markup.decoded) : this.#put(sign);
  }

  #putWords(decoded: string): string {
    this.#output.push(unchangedText(decoded));
    this.#noteUnchanged(endsAsWord.test(decoded));
    return decoded;
  }

  #noteUnchanged(inWord: boolean): void {
    this.#run.inWord = this.#isAfterWord = inWord;
    this.#invisible = this.#markupLength = 0;
  }

  /** Gives out markup. @param shown the text a page shows for the markup */
  #putMarkup(raw: string, shown: string): string {
    if (shown !== "") return this.#put(raw, shown, { normalized: raw, folded: raw });
    this.#markupLength += raw.length;
    const unmarked = this.#markupLength > maxMarkupLength ? raw : "";
    if (characterOf(raw).isGap) return this.#put(raw, raw, { unmarked });
    this.#isAfterWord = false;
    this.#run.pushInvisible({ ...unchangedText(raw), unmarked });
    return raw;
  }

  /** Gives out a character. @param decoded the character that `raw` stands for @param forms values for single forms that differ from it */
  #put(raw: string, decoded = raw, forms: Partial<Deobfuscated> = {}): string {
    let character = characterOf(decoded);
    this.#invisible = character.isInvisible ? this.#invisible + 1 : 0;
    if (this.#invisible > maxInvisibleCharacters) character = readCharacter(decoded);
    const { normalized } = character;
    const folded = character.folded === raw ? raw : character.folded;
    const tagsDecoded = decodeTag(raw) ?? raw;
    const piece = {
      raw,
      normalized: normalized === raw ? raw : normalized,
      folded,
      unmarked: folded,
      tagsDecoded,
      ...forms,
    };
    // An invisible character does not separate the letters around it.
    if (normalized === "") this.#run.pushInvisible(piece);
    else this.#run.put(piece, character);
    if (raw !== "_" || forms.unmarked === "") this.#isAfterWord = character.endsWord;
    if (normalized !== "" && forms.unmarked !== "") this.#markupLength = 0;
    return raw;
  }
}
