/**
 * A budget of bytes for the JSON of traced messages: a text is cut to what is left of it. The cost of cutting grows
 * with the budget, and not with the text.
 */

/** Bytes of JSON for a part, and for a message, without their texts; those of the longest kind. */
const partBytes = 80;
const messageBytes = 64;
const ellipsis = "…";

export class ContentBudget {
  readonly #bytes: number;
  #left: number;
  /** Whether a text was cut, or a part or message left out. */
  isCut = false;

  /** @param bytes size of the budget, in bytes of JSON in UTF-8 */
  constructor(bytes: number) {
    this.#bytes = bytes - "[]".length;
    this.#left = this.#bytes;
  }

  /** Bytes of the budget that are used. */
  get taken(): number {
    return this.#bytes - this.#left;
  }

  /** Takes the bytes of a message without its parts. @returns false when they do not fit */
  takeMessage(): boolean {
    return this.#take(messageBytes);
  }

  /** Takes the bytes of a part without its text. @returns false when they do not fit */
  takePart(): boolean {
    return this.#take(partBytes);
  }

  /** Takes the bytes of a text. @returns the text, or its beginning with an ellipsis when it does not fit */
  takeText(text: string): string {
    const end = this.#fitting(text);
    if (end === text.length) return text;
    this.isCut = true;
    this.#left = 0;
    return text.slice(0, end) + ellipsis;
  }

  #take(bytes: number): boolean {
    const fits = this.#left >= bytes;
    this.#left = fits ? this.#left - bytes : 0;
    this.isCut ||= !fits;
    return fits;
  }

  /** Takes the bytes of a text. @returns the length of its longest beginning that fits together with an ellipsis, or of the whole text */
  #fitting(text: string): number {
    const room = this.#left - Buffer.byteLength(ellipsis);
    let bytes = 0;
    for (let at = 0; at < text.length; at++) {
      const more = jsonBytes(text, at);
      if (bytes + more > room) return isPaired(text, at - 1) ? at - 1 : at;
      bytes += more;
    }
    this.#left -= bytes;
    return text.length;
  }
}

/** Whether the unit is the first of a surrogate pair. */
const isPaired = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff;

/** Bytes of one UTF-16 unit in the JSON of `JSON.stringify`; a surrogate pair counts with its first unit. */
function jsonBytes(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0x20) return shortEscapes.has(unit) ? 2 : 6;
  if (unit === 0x22 || unit === 0x5c) return 2;
  if (unit < 0x80) return 1;
  if (unit < 0x800) return 2;
  if (unit < 0xd800 || unit > 0xdfff) return 3;
  if (isPaired(text, at)) return 4;
  return at > 0 && isPaired(text, at - 1) ? 0 : 6;
}

/** Characters with a short escape in JSON: backspace, tab, line feed, form feed, carriage return. */
const shortEscapes: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d]);
