/** Finds the end of a JSON object that arrives in pieces, without reading a piece twice. */

const [quote, backslash] = [0x22, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
/** The last control character, and the space: JSON has no other white space in front of a value. */
const space = 0x20;

export class ObjectEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #reached = false;
  /** True for a text that is no object: it has no end to find. */
  #isOther = false;

  /** Whether the object is closed; its contents are not checked. */
  get reached(): boolean {
    return this.#reached;
  }

  /** Whether an object has begun and is not closed. */
  get isOpen(): boolean {
    return this.#depth > 0;
  }

  /** @returns how many characters of the piece come before the end of the object; all of them where it does not end here */
  read(piece: string): number {
    const { length } = piece;
    if (this.#reached) return 0;
    if (this.#isOther) return length;
    for (let at = 0; at < length; at++) {
      this.#take(piece.charCodeAt(at));
      if (this.#reached) return at + 1;
    }
    return length;
  }

  #take(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#inString) {
      this.#isEscaped = code === backslash;
      this.#inString = code !== quote;
    } else if (this.#depth === 0) {
      if (code === openBrace) this.#depth = 1;
      else if (code > space) this.#isOther = true;
    } else if (code === quote) this.#inString = true;
    else if (code === openBrace || code === openBracket) this.#depth++;
    else if (code === closeBrace || code === closeBracket) this.#reached = --this.#depth === 0;
  }
}
