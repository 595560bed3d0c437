/** Finds the end of a JSON object that arrives in pieces, without reading a piece twice. */

const [quote, backslash] = [0x22, 0x5c];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

export class ObjectEnd {
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  #reached = false;

  /** Whether the object is closed; its contents are not checked. */
  get reached(): boolean {
    return this.#reached;
  }

  read(piece: string): void {
    for (let at = 0; at < piece.length && !this.#reached; at++) this.#take(piece.charCodeAt(at));
  }

  #take(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#inString) {
      this.#isEscaped = code === backslash;
      this.#inString = code !== quote;
    } else if (code === quote) this.#inString = true;
    else if (code === openBrace || (code === openBracket && this.#depth > 0)) this.#depth++;
    else if ((code === closeBrace || code === closeBracket) && this.#depth > 0) this.#reached = --this.#depth === 0;
  }
}
