/**
 * Finds the end of a response's head, or of the trailers of a chunked body, and checks every byte before it. The
 * grammar is the one of RFC 9112 without its tolerances: no bare CR or LF, no folded lines, no space before the colon.
 */
import { invalidResponse } from "./connection-error.ts";

/** Maximum bytes of a head, with all informational responses before it, and of trailers. */
export const headLimitBytes = 64 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;

/** Characters allowed in field names (RFC 9110, 5.6.2). */
const nameCharacters = characters(/[!#$%&'*+\-.^_`|~\dA-Za-z]/);
/** Characters allowed in field values: no control characters except tabs. */
const valueCharacters = characters(/[\t\u0020-\u007e\u0080-\u00ff]/);
/** The characters of a status line up to the code, which is three digits from 100 on. */
const statusLine = [/H/, /T/, /T/, /P/, /\//, /1/, /\./, /[01]/, / /, /[1-9]/, /\d/, /\d/].map(characters);

function characters(allowed: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (allowed.test(String.fromCharCode(code)) ? 1 : 0));
}

// States of the scanner, by what the next byte may belong to.
const inStatusLine = 0;
const afterCode = 1;
const inReason = 2;
const afterLine = 3;
const atLineStart = 4;
const inName = 5;
const inValue = 6;
const beforeEnd = 7;

export class HeadScanner {
  #state = inStatusLine;
  /** Number of characters matched in the status line, up to the code. */
  #matched = 0;
  #totalBytes = 0;

  /** Whether nothing of a status line has come. */
  get isAtStart(): boolean {
    return this.#state === inStatusLine && this.#matched === 0;
  }

  /** Begins the head of the next response. */
  restart(): void {
    this.#state = inStatusLine;
    this.#matched = 0;
    this.#totalBytes = 0;
  }

  /** Begins another head of the same response, which counts towards the same limit of size. */
  restartAfterInformational(): void {
    this.#state = inStatusLine;
    this.#matched = 0;
  }

  /** Begins the trailers, which are a head without a status line. */
  restartForTrailers(): void {
    this.#state = atLineStart;
    this.#totalBytes = 0;
  }

  /** Skips the empty lines some servers send after a body. */
  skipEmptyLines(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && (bytes[at] === carriageReturn || bytes[at] === lineFeed)) at++;
    this.#count(at - from);
    return at;
  }

  /**
   * @returns the index after the empty line; -1 when more bytes are needed
   * @throws ConnectionError
   */
  scan(bytes: Uint8Array, from: number): number {
    const end = this.#scan(bytes, from);
    this.#count((end === -1 ? bytes.length : end) - from);
    return end;
  }

  #count(bytes: number): void {
    this.#totalBytes += bytes;
    if (this.#totalBytes > headLimitBytes) throw invalidResponse(`head of more than ${headLimitBytes} bytes`);
  }

  #scan(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      switch (this.#state) {
        case inName:
          at = this.#name(bytes, at);
          break;
        case inValue:
          at = this.#value(bytes, at);
          break;
        case beforeEnd:
          if (bytes[at] !== lineFeed) throw invalidResponse("no line feed after the head");
          return at + 1;
        default:
          at = this.#line(bytes, at);
      }
    }
    return -1;
  }

  #name(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && nameCharacters[bytes[at]!] === 1) at++;
    if (at === bytes.length) return at;
    if (bytes[at] !== colon) throw invalidResponse("invalid character in a field name");
    this.#state = inValue;
    return at + 1;
  }

  #value(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && valueCharacters[bytes[at]!] === 1) at++;
    if (at === bytes.length) return at;
    if (bytes[at] !== carriageReturn) throw invalidResponse("invalid character in a field value");
    this.#state = afterLine;
    return at + 1;
  }

  /** Reads one byte of the status line, or between two lines. */
  #line(bytes: Uint8Array, at: number): number {
    const byte = bytes[at]!;
    switch (this.#state) {
      case inStatusLine:
        if (statusLine[this.#matched]![byte] !== 1) throw invalidResponse("no status line");
        if (++this.#matched === statusLine.length) this.#state = afterCode;
        return at + 1;
      case afterCode:
        if (byte !== space && byte !== carriageReturn) throw invalidResponse("invalid status code");
        this.#state = inReason;
        return at;
      case inReason:
        return this.#reason(bytes, at);
      case afterLine:
        if (byte !== lineFeed) throw invalidResponse("no line feed after a line of the head");
        this.#state = atLineStart;
        return at + 1;
      default:
        if (byte === carriageReturn) {
          this.#state = beforeEnd;
          return at + 1;
        }
        if (nameCharacters[byte] !== 1) throw invalidResponse("invalid character in a field name");
        this.#state = inName;
        return at + 1;
    }
  }

  /** Reads the reason phrase. It is ignored, so its characters are not restricted. */
  #reason(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length && bytes[at] !== carriageReturn && bytes[at] !== lineFeed) at++;
    if (at === bytes.length) return at;
    if (bytes[at] === lineFeed) throw invalidResponse("no carriage return after the status line");
    this.#state = afterLine;
    return at + 1;
  }
}
