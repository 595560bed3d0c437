/** Draws letters together that stand apart. The gaps behind such a letter wait until it is known whether they are part of a word. */
import { maxGap, minSpelled } from "../disguises/characters.ts";
import type { Character } from "./characters.ts";
import type { Undisguised } from "./undisguise.ts";

interface Waiting {
  readonly made: Undisguised;
  readonly isGap: boolean;
}

export class LetterRun {
  readonly #give: (made: Undisguised) => void;
  /** Whether the last character was a letter or number. */
  inWord = false;
  /** Letters of the run under way, the first of which was given out; 0 when there is none. */
  #letters = 0;
  /** The gap between its letters: several signs that are always the same, or any single one. */
  #gap: string | undefined;
  /** The gap behind its last letter. */
  #nextGap = "";
  /** Gaps and letters behind what was given out. */
  #waiting: Waiting[] = [];
  /** Index of the last gap within them. */
  #gapStart = 0;
  #open: "letter" | "gap" | undefined;

  /** @param give takes what is known, in order */
  constructor(give: (made: Undisguised) => void) {
    this.#give = give;
  }

  get isOpen(): boolean {
    return this.#letters > 0;
  }

  /** UTF-16 units that wait. */
  get held(): number {
    return this.#waiting.reduce((sum, { made }) => sum + made.raw.length, 0);
  }

  put(made: Undisguised, character: Character): void {
    if (this.isOpen && this.#goesOn(made, character)) return;
    if (!this.inWord && character.isLetter) this.#letters = 1;
    this.inWord = character.endsAsWord;
    this.#give(made);
  }

  /** What shows nothing stands between no two letters. */
  follow(made: Undisguised): void {
    if (this.#waiting.length > 0) this.#waiting.push({ made, isGap: false });
    else this.#give(made);
  }

  end(): void {
    if (this.#open === "letter") this.#confirm();
    this.#leave();
  }

  /** Whether it belongs to the run; otherwise that is over. */
  #goesOn(made: Undisguised, character: Character): boolean {
    if (this.#open === "letter" && !character.goesOnAsWord) this.#confirm();
    if (this.#open !== "letter" && character.isGap && this.#takesGap(character.squeezed)) {
      if (this.#open === undefined) this.#gapStart = this.#waiting.length;
      this.#nextGap += character.squeezed;
      return this.#wait(made, "gap");
    }
    if (this.#open === "gap" && character.isLetter && this.#takesLetter()) return this.#wait(made, "letter");
    this.inWord = this.#open !== "gap";
    this.#leave();
    return false;
  }

  #takesGap(sign: string): boolean {
    const next = this.#nextGap + sign;
    if (this.#gap === undefined) return next.length <= maxGap;
    if (this.#gap.length === 1 ? next.length === 1 : this.#gap.startsWith(next)) return true;
    return next.length <= maxGap && this.#beginsAnew();
  }

  #takesLetter(): boolean {
    this.#gap ??= this.#nextGap;
    const isSame = this.#gap.length === 1 ? this.#nextGap.length === 1 : this.#gap === this.#nextGap;
    if (!isSame && !this.#beginsAnew()) return false;
    this.#gap = this.#nextGap;
    return true;
  }

  /** A gap of another kind: its last letter may be the first of another run, unless it is part of a word. */
  #beginsAnew(): boolean {
    if (this.#letters >= minSpelled) return false;
    for (const { made } of this.#waiting.splice(0, this.#gapStart)) this.#give(made);
    this.#gapStart = 0;
    this.#letters = 1;
    this.#gap = undefined;
    return true;
  }

  #wait(made: Undisguised, open: "letter" | "gap"): true {
    this.#waiting.push({ made, isGap: open === "gap" });
    this.#open = open;
    return true;
  }

  /** The letter stands apart. */
  #confirm(): void {
    this.#letters++;
    this.#open = undefined;
    this.#nextGap = "";
    if (this.#letters < minSpelled) return;
    for (const { made, isGap } of this.#waiting) this.#give(isGap ? { ...made, squeezed: "", joined: "" } : made);
    this.#waiting = [];
  }

  #leave(): void {
    for (const { made } of this.#waiting) this.#give(made);
    this.#waiting = [];
    this.#letters = 0;
    this.#open = this.#gap = undefined;
    this.#nextGap = "";
  }
}
