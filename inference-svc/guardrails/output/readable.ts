/** Whether an encoded word can still turn out to be text: most words of any language cannot, from their first letters on. */

/** Of all characters those that may be no text. */
const mostOthers = 0.15;

const isText = (byte: number): boolean =>
  (byte >= 0x20 && byte < 0x7f) || byte === 0x09 || byte === 0x0a || byte === 0x0d;
/** Bytes that follow in a character of UTF-8; -1 for what begins none. */
const following = Int8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x80) return 0;
  if (byte < 0xc2 || byte > 0xf4) return -1;
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
});

const begins = (byte: number): boolean => isText(byte) || (following[byte] as number) > 0;
const follows = (byte: number): boolean => (byte & 0xc0) === 0x80;

/** By how many bits of a byte are known, and which: whether there is such a byte. */
const mayBe = (is: (byte: number) => boolean): readonly Uint8Array[] =>
  Array.from({ length: 8 }, (_, bits) =>
    Uint8Array.from({ length: 1 << bits }, (_none, known) => (some(bits, known, is) ? 1 : 0)),
  );

function some(bits: number, known: number, is: (byte: number) => boolean): boolean {
  const open = 8 - bits;
  return Array.from({ length: 1 << open }, (_, rest) => (known << open) | rest).some(is);
}

const mayBegin = mayBe(begins);
const mayFollow = mayBe(follows);

/** The bytes of a word that comes digit by digit. */
export class Readable {
  /** Bits of a digit. */
  readonly #width: number;
  #bits = 0;
  #digits = 0;
  #characters = 0;
  #others = 0;
  /** Bytes that the character under way still wants. */
  #wanted = 0;

  constructor(width: 4 | 6) {
    this.#width = width;
  }

  /** For another word. */
  begin(): void {
    this.#bits = this.#digits = this.#characters = this.#others = this.#wanted = 0;
  }

  /** Nothing but one digit has come, a zero. */
  get isZero(): boolean {
    return this.#bits === this.#width && this.#digits === 0 && this.#characters === 0 && this.#wanted === 0;
  }

  /** @returns whether it can still be text */
  push(digit: number): boolean {
    this.#digits = (this.#digits << this.#width) | digit;
    this.#bits += this.#width;
    if (this.#bits >= 8) {
      this.#bits -= 8;
      this.#take(this.#digits >> this.#bits);
      this.#digits &= (1 << this.#bits) - 1;
      if (this.#others > Math.floor(this.#characters * mostOthers)) return false;
    }
    return this.#bits === 0 || this.#others < Math.floor((this.#characters + 1) * mostOthers) || this.#mayGoOn();
  }

  #take(byte: number): void {
    if (this.#wanted > 0 && follows(byte)) {
      if (--this.#wanted === 0) this.#characters++;
      return;
    }
    // Cut short, it is one that nobody can read.
    if (this.#wanted > 0) this.#other();
    this.#wanted = Math.max(0, following[byte] as number);
    if (this.#wanted > 0) return;
    if (isText(byte)) this.#characters++;
    else this.#other();
  }

  #other(): void {
    this.#characters++;
    this.#others++;
  }

  /** Whether some byte that begins with these bits would do. */
  #mayGoOn(): boolean {
    return (this.#wanted > 0 ? mayFollow : mayBegin)[this.#bits]?.[this.#digits] === 1;
  }
}
