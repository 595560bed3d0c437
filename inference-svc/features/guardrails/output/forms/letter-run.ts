/**
 * Closes up words spelled with gaps (`p a s s`). The gap after a single letter is held until it is clear whether it
 * belongs to such a word.
 */
import { maxLetterGap, minSpelledLetters } from "../../disguises/characters.ts";
import type { Character, Deobfuscated } from "./characters.ts";

interface WaitingPiece {
  readonly piece: Deobfuscated;
  readonly isGap: boolean;
}

export class LetterRun {
  readonly #give: (piece: Deobfuscated) => void;
  /** Whether the last character was a letter or digit. */
  inWord = false;
  /** Number of letters in the current run, including its first one, which is already released; 0 outside of a run. */
  #letters = 0;
  /** The gap between the run's letters: one sign, which may vary, or several signs, which are always the same. */
  #gap: string | undefined;
  /** The part received of the gap after the run's last letter. */
  #nextGap = "";
  /** Gaps and letters held back, in order. */
  #waiting: WaitingPiece[] = [];
  /** Index of the last gap within `#waiting`. */
  #gapStart = 0;
  #open: "letter" | "gap" | undefined;

  /** @param give receives the pieces in order, once their form is decided */
  constructor(give: (piece: Deobfuscated) => void) {
    this.#give = give;
  }

  get isOpen(): boolean {
    return this.#letters > 0;
  }

  /** Whether text is held back. */
  get holds(): boolean {
    return this.#waiting.length > 0;
  }

  put(piece: Deobfuscated, character: Character): void {
    if (this.isOpen && this.#extends(piece, character)) return;
    if (!this.inWord && character.isLetter) this.#letters = 1;
    this.inWord = character.endsWord;
    this.#give(piece);
  }

  /** Takes an invisible character, which does not separate the letters around it. */
  pushInvisible(piece: Deobfuscated): void {
    if (this.#waiting.length > 0) this.#waiting.push({ piece, isGap: false });
    else this.#give(piece);
  }

  end(): void {
    if (this.#open === "letter") this.#confirmLetter();
    this.#abandon();
  }

  /** Whether the piece continues the current run; if not, the run ends. */
  #extends(piece: Deobfuscated, character: Character): boolean {
    if (this.#open === "letter" && !character.continuesWord) this.#confirmLetter();
    if (this.#open !== "letter" && character.isGap && this.#takesGap(character.folded)) {
      if (this.#open === undefined) this.#gapStart = this.#waiting.length;
      this.#nextGap += character.folded;
      return this.#wait(piece, "gap");
    }
    if (this.#open === "gap" && character.isLetter && this.#takesLetter()) return this.#wait(piece, "letter");
    this.inWord = this.#open !== "gap";
    this.#abandon();
    return false;
  }

  #takesGap(sign: string): boolean {
    const next = this.#nextGap + sign;
    if (this.#gap === undefined) return next.length <= maxLetterGap;
    if (this.#gap.length === 1 ? next.length === 1 : this.#gap.startsWith(next)) return true;
    return next.length <= maxLetterGap && this.#startsNewRun();
  }

  #takesLetter(): boolean {
    this.#gap ??= this.#nextGap;
    const isSame = this.#gap.length === 1 ? this.#nextGap.length === 1 : this.#gap === this.#nextGap;
    if (!isSame && !this.#startsNewRun()) return false;
    this.#gap = this.#nextGap;
    return true;
  }

  /** Whether the last letter and a different gap start a new run. They do not if the current run is already a word. */
  #startsNewRun(): boolean {
    if (this.#letters >= minSpelledLetters) return false;
    for (const { piece } of this.#waiting.splice(0, this.#gapStart)) this.#give(piece);
    this.#gapStart = 0;
    this.#letters = 1;
    this.#gap = undefined;
    return true;
  }

  #wait(piece: Deobfuscated, open: "letter" | "gap"): true {
    this.#waiting.push({ piece, isGap: open === "gap" });
    this.#open = open;
    return true;
  }

  /** Counts the last letter of the run, because no other letter or digit adjoins it. */
  #confirmLetter(): void {
    this.#letters++;
    this.#open = undefined;
    this.#nextGap = "";
    if (this.#letters < minSpelledLetters) return;
    for (const { piece, isGap } of this.#waiting) this.#give(isGap ? { ...piece, folded: "", unmarked: "" } : piece);
    this.#waiting = [];
  }

  #abandon(): void {
    for (const { piece } of this.#waiting) this.#give(piece);
    this.#waiting = [];
    this.#letters = 0;
    this.#open = this.#gap = undefined;
    this.#nextGap = "";
  }
}
