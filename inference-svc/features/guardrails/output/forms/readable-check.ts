/** Checks, digit by digit, whether an encoded word can still decode to readable text. Ordinary words fail within their first letters. */

/** Maximum share of unprintable characters in a readable text. */
const maxUnprintableShare = 0.15;

const isText = (byte: number): boolean =>
  (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
/** Number of continuation bytes after each UTF-8 lead byte; -1 for other bytes. */
const bytesToFollow = Int8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80) return 0;
  if (byte < 0xc2 || byte > 0xf4) return -1;
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
});

const startsCharacter = (byte: number): boolean => isText(byte) || (bytesToFollow[byte] as number) > 0;
const continuesCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** Tables that tell, by the number and value of the leading bits known, whether some byte with these bits satisfies the condition. */
const tableOfPrefixes = (is: (byte: number) => boolean): readonly Uint8Array[] =>
  Array.from({ length: 8 }, (_, bits) =>
    Uint8Array.from({ length: 1 << bits }, (_none, known) => (someByte(bits, known, is) ? 1 : 0)),
  );

function someByte(bits: number, known: number, is: (byte: number) => boolean): boolean {
  const open = 8 - bits;
  return Array.from({ length: 1 << open }, (_, rest) => (known << open) | rest).some(is);
}

const canStart = tableOfPrefixes(startsCharacter);
const canFollow = tableOfPrefixes(continuesCharacter);

/** Decodes the digits of one word and counts its unprintable characters. */
export class ReadableCheck {
  /** Number of bits per digit: 4 for hexadecimal, 6 for base64. */
  readonly #width: number;
  #bits = 0;
  #digits = 0;
  #characters = 0;
  #unprintable = 0;
  /** Number of continuation bytes still missing from the current character. */
  #wanted = 0;

  constructor(width: 4 | 6) {
    this.#width = width;
  }

  /** Resets the check for the next word. */
  begin(): void {
    this.#bits = this.#digits = this.#characters = this.#unprintable = this.#wanted = 0;
  }

  /** Whether the word so far is the single digit zero, as in `0x`. */
  get isZero(): boolean {
    return this.#bits === this.#width && this.#digits === 0 && this.#characters === 0 && this.#wanted === 0;
  }

  /** Takes the next digit. @returns whether the word can still be readable text */
  push(digit: number): boolean {
    this.#digits = (this.#digits << this.#width) | digit;
    this.#bits += this.#width;
    if (this.#bits >= 8) {
      this.#bits -= 8;
      this.#take(this.#digits >> this.#bits);
      this.#digits &= (1 << this.#bits) - 1;
      if (this.#unprintable > Math.floor(this.#characters * maxUnprintableShare)) return false;
    }
    return (
      this.#bits === 0 ||
      this.#unprintable < Math.floor((this.#characters + 1) * maxUnprintableShare) ||
      this.#canContinue()
    );
  }

  #take(byte: number): void {
    if (this.#wanted > 0 && continuesCharacter(byte)) {
      if (--this.#wanted === 0) this.#characters++;
      return;
    }
    // A character cut short decodes to U+FFFD.
    if (this.#wanted > 0) this.#addUnprintable();
    this.#wanted = Math.max(0, bytesToFollow[byte] as number);
    if (this.#wanted > 0) return;
    if (isText(byte)) this.#characters++;
    else this.#addUnprintable();
  }

  #addUnprintable(): void {
    this.#characters++;
    this.#unprintable++;
  }

  /** Whether a byte that starts with the known bits can be readable. */
  #canContinue(): boolean {
    return (this.#wanted > 0 ? canFollow : canStart)[this.#bits]?.[this.#digits] === 1;
  }
}
