/**
 * Takes the disguises off a text that comes in pieces, as `input/normal.ts` and `input/joined.ts` do with whole ones. Kept back is only what the next
 * character can change: an escape or markup that may go on, and the gaps behind letters that stand apart. What is made does not depend on how the
 * text is cut.
 */
import { escapeIn, maxEscape } from "../disguises/escapes.ts";
import { markupIn, markupSigns, maxMarkup } from "../disguises/markup.ts";
import { tagged } from "../input/normal.ts";
import { characterOf, kind, kindOf, maxUnseen, readCharacter } from "./characters.ts";
import { LetterRun } from "./letter-run.ts";

/** A stretch of a text with what it says in each form; the very same string where that is what it is. */
export interface Undisguised {
  readonly raw: string;
  /** Escapes, other forms of letters and characters that nobody sees are taken off. */
  readonly plain: string;
  /** Look-alikes are Latin letters, too, and letters that stand apart are drawn together. */
  readonly squeezed: string;
  /** Markup is taken off, too. */
  readonly joined: string;
  /** Nothing is something else but letters that only machines read. */
  readonly revealed: string;
}

const asItIs = (text: string): Undisguised => ({
  raw: text,
  plain: text,
  squeezed: text,
  joined: text,
  revealed: text,
});

/** Words of several letters and what stands between them; names in snake case are words. */
const words = /(?:[A-Za-z0-9]{2,}(?:_[A-Za-z0-9]{2,})*|[^A-Za-z0-9%&<[\]*`~_\\\x80-\uffff])+/y;
const underscore = 0x5f;
const endsAsWord = /[\p{L}\p{N}]$/u;
const escapeSigns = "%&\\";

export class Undisguiser {
  #made: Undisguised[] = [];
  /** Not read yet. */
  #rest = "";
  #unseen = 0;
  /** UTF-16 units of markup in a row. */
  #markup = 0;
  /** Whether the last character, but for underscores of a name, is a letter or number. */
  #behindWord = false;
  readonly #run = new LetterRun((made) => this.#made.push(made));

  /** UTF-16 units that were not given out. */
  get held(): number {
    return this.#rest.length + this.#run.held;
  }

  /** Reads on when nothing is held back, there is nothing in the text that could be something else, and no letter of it stands apart. */
  passes(text: string): boolean {
    if (this.#rest !== "" || this.#run.isOpen) return false;
    let { inWord } = this.#run;
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      const is = kindOf(unit);
      const next = index + 1 === text.length ? kind.gap : kindOf(text.charCodeAt(index + 1));
      const goesOn = next === kind.letter || next === kind.digit;
      if (is === kind.disguise && !(unit === underscore && inWord && goesOn)) return false;
      if (is === kind.letter && !inWord && next === kind.gap) return false;
      inWord = is === kind.letter || is === kind.digit;
    }
    if (text !== "") this.#passed(inWord);
    return true;
  }

  push(text: string): readonly Undisguised[] {
    if (this.passes(text)) return text === "" ? [] : [asItIs(text)];
    this.#read(this.#rest + text, false);
    return this.#take();
  }

  end(): readonly Undisguised[] {
    this.#read(this.#rest, true);
    this.#run.end();
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
    const whole = this.#run.isOpen ? undefined : words.exec(text)?.[0];
    if (whole !== undefined) return this.#putWords(whole);
    const unit = text.charCodeAt(at);
    if (unit < 0x80) return this.#sign(text, at, over);
    const isHalf = unit >= 0xd800 && unit <= 0xdbff;
    if (isHalf && at + 1 === text.length && !over) return undefined;
    const raw = String.fromCodePoint(text.codePointAt(at) as number);
    return this.#put(raw);
  }

  #sign(text: string, at: number, over: boolean): string | undefined {
    const sign = text.charAt(at);
    if (escapeSigns.includes(sign)) {
      const escape = escapeIn(text.slice(at, at + maxEscape), over);
      if (escape === "open") return undefined;
      if (escape) return this.#put(text.slice(at, at + escape.length), escape.said);
    }
    if (!markupSigns.includes(sign)) return this.#put(sign);
    const markup = markupIn(text.slice(at, at + maxMarkup), over, this.#behindWord);
    if (markup === "open") return undefined;
    return markup ? this.#putMarkup(text.slice(at, at + markup.length), markup.said) : this.#put(sign);
  }

  #putWords(said: string): string {
    this.#made.push(asItIs(said));
    this.#passed(endsAsWord.test(said));
    return said;
  }

  #passed(inWord: boolean): void {
    this.#run.inWord = this.#behindWord = inWord;
    this.#unseen = this.#markup = 0;
  }

  /** @param shown the text that a page shows for it */
  #putMarkup(raw: string, shown: string): string {
    if (shown !== "") return this.#put(raw, shown, { plain: raw, squeezed: raw });
    this.#markup += raw.length;
    const joined = this.#markup > maxMarkup ? raw : "";
    if (characterOf(raw).isGap) return this.#put(raw, raw, { joined });
    this.#behindWord = false;
    this.#run.follow({ ...asItIs(raw), joined });
    return raw;
  }

  /**
   * @param said the character that it stands for
   * @param forms those in which it is something else
   */
  #put(raw: string, said = raw, forms: Partial<Undisguised> = {}): string {
    let character = characterOf(said);
    this.#unseen = character.isUnseen ? this.#unseen + 1 : 0;
    if (this.#unseen > maxUnseen) character = readCharacter(said, said);
    const { plain, squeezed } = character;
    const like = squeezed === raw ? raw : squeezed;
    const revealed = tagged(raw) ?? raw;
    const made = { raw, plain: plain === raw ? raw : plain, squeezed: like, joined: like, revealed, ...forms };
    // What shows nothing stands between no two letters.
    if (plain === "") this.#run.follow(made);
    else this.#run.put(made, character);
    if (raw !== "_" || forms.joined === "") this.#behindWord = character.endsAsWord;
    if (plain !== "" && forms.joined !== "") this.#markup = 0;
    return raw;
  }
}
