/**
 * Describes the words that a field can have, each with its properties, so code checks a property and never
 * compares words.
 */

/** Colour of a word in the console. */
export type Tone = "good" | "warn" | "danger";

/** A word with its properties. */
type Row<Word, Traits> = Traits & { readonly word: Word };

export class EnumWords<Word extends string, Traits extends { readonly value: number }> {
  readonly all: readonly Word[];
  /** Every word with its properties, the default word first. */
  readonly rows: readonly Row<Word, Traits>[];
  readonly #byWord: Readonly<Record<Word, Row<Word, Traits>>>;
  readonly #byValue: ReadonlyMap<number, Row<Word, Traits>>;

  constructor(table: Readonly<Record<Word, Traits>>) {
    this.all = Object.keys(table) as Word[];
    this.rows = this.all.map((word) => ({ ...table[word], word }));
    this.#byWord = Object.fromEntries(this.rows.map((row) => [row.word, row])) as Record<Word, Row<Word, Traits>>;
    this.#byValue = new Map(this.rows.map((row) => [row.value, row]));
  }

  of(word: Word): Row<Word, Traits> {
    return this.#byWord[word];
  }

  /**
   * Finds a word. @param word any value, such as one from a stored document; the result is undefined when it is not one
   * of the words
   */
  find(word: unknown): Row<Word, Traits> | undefined {
    return this.rows.find((row) => row.word === word);
  }

  /** Finds the word of an enum value; undefined for an unset value, and for a value unknown to this build. */
  ofValue(value: number): Row<Word, Traits> | undefined {
    return this.#byValue.get(value);
  }
}
