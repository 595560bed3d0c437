/**
 * Replaces escapes of half a surrogate pair in JSON by the escape of U+FFFD. Models write them, most JSON parsers
 * refuse them ("no low surrogate in string"), and a conversation that contains one fails at every later turn.
 */

const backslash = "\\";
const replacement = "\\ufffd";
/** Characters of an escape such as \u00e9. */
const escapeLength = 6;
const secondHalf = /^\\u[dD][c-fC-F][0-9a-fA-F]{2}$/;
const secondHalfBegun = /^(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?$/;
const halfPair = /\\u[dD][89a-fA-F]/;

/** @returns the same text unless it has such an escape */
export function repairEscapes(json: string): string {
  if (!halfPair.test(json)) return json;
  const escapes = new LoneEscapes();
  return escapes.read(json) + escapes.end();
}

/** Reads JSON in pieces, and holds back an escape that begins at the end of a piece. */
export class LoneEscapes {
  #held = "";

  /** The beginning of an escape held back. */
  get held(): string {
    return this.#held;
  }

  read(piece: string): string {
    if (this.#held === "" && !piece.includes(backslash)) return piece;
    const text = this.#held + piece;
    this.#held = "";
    let read = "";
    let from = 0;
    for (let at = text.indexOf(backslash); at !== -1; ) {
      const length = lengthAt(text, at);
      if (length === undefined) {
        this.#held = text.slice(at);
        return read + text.slice(from, at);
      }
      if (length === 0) {
        read += text.slice(from, at) + replacement;
        from = at + escapeLength;
      }
      at = text.indexOf(backslash, at + (length || escapeLength));
    }
    return from === 0 ? text : read + text.slice(from);
  }

  /** Returns what is held back, at the end of the text. */
  end(): string {
    const held = this.#held;
    this.#held = "";
    return held.length >= escapeLength && halfPair.test(held) ? replacement + held.slice(escapeLength) : held;
  }
}

/** @returns the length of the escape at this index; 0 for half a surrogate pair, undefined when more text must come first */
function lengthAt(text: string, at: number): number | undefined {
  if (at + 1 >= text.length) return undefined;
  if (text[at + 1] !== "u") return 2;
  if (at + escapeLength > text.length) return undefined;
  const unit = Number.parseInt(text.slice(at + 2, at + escapeLength), 16);
  if (Number.isNaN(unit) || (unit & 0xf800) !== 0xd800) return escapeLength;
  if ((unit & 0xfc00) === 0xdc00) return 0;
  const next = text.slice(at + escapeLength, at + 2 * escapeLength);
  if (secondHalf.test(next)) return 2 * escapeLength;
  return secondHalfBegun.test(next) && next.length < escapeLength ? undefined : 0;
}
