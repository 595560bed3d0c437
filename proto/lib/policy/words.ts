/** The words of a field, each a value with its traits, so that code asks a trait and never compares words. */

/** Colour of a word in the console. */
export type Tone = "good" | "warn" | "danger";

/** A word with its traits. */
type Row<Word, Traits> = Traits & { readonly word: Word };

export class EnumWords<Word extends string, Traits extends { readonly value: number }> {
  readonly all: readonly Word[];
  /** Every word with its traits, the default first. */
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

  /** @param word any value, such as one of a stored document; undefined for what is no such word */
  find(word: unknown): Row<Word, Traits> | undefined {
    return this.rows.find((row) => row.word === word);
  }

  /** @param value the enum value in messages; undefined for an unset value, and for a value added by a newer build */
  ofValue(value: number): Row<Word, Traits> | undefined {
    return this.#byValue.get(value);
  }
}
