/** Decodes the coding `chunked` of HTTP/1.1 (RFC 9112, 7.1): finds the body between the sizes of chunks, and checks these. */
import { invalidResponse } from "./connection-error.ts";

/** Maximum bytes of a line with the size of a chunk and its extensions. No known server sends longer ones; Node has the same limit. */
const sizeLineLimitBytes = 16 * 1024;
/** Maximum hexadecimal digits of a size: more than any response needs, and a number represents it exactly. */
const maxDigits = 12;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const semicolon = 0x3b;

const token = "[!#$%&'*+\\-.^_`|~\\w]";
/**
 * Pattern for a quoted value. Its inside has no bare quotation mark, because a text that could be divided in several
 * ways would take exponential time.
 */
const quoted = '"(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
const extensions = new RegExp(`^(?:;${token}+(?:=(?:${token}*|${quoted}))?)+$`);

// States of the decoder, by what the next byte may belong to.
const inSize = 0;
const inExtensions = 1;
const afterSize = 2;
const inData = 3;
const afterData = 4;
const afterDataReturn = 5;

export class ChunkedBody {
  #state = inSize;
  #digits = 0;
  #size = 0;
  /** Number of bytes still missing from the chunk. */
  #left = 0;
  #extensions = "";
  /** Index after the last byte that `read` has examined. */
  at = 0;
  /** Index after the data that `read` has found, even if it throws. */
  to = 0;
  /** Whether the last chunk has come, which only trailers follow. */
  isOver = false;

  restart(): void {
    this.#state = inSize;
    this.#digits = 0;
    this.#size = 0;
    this.isOver = false;
  }

  /**
   * Moves the data of all chunks together, to the start of the first, so one read of the socket gives one piece of the
   * body. Stops after the last chunk.
   * @throws ConnectionError
   */
  read(bytes: Buffer, from: number): void {
    this.at = from;
    this.to = from;
    while (this.at < bytes.length && !this.isOver) {
      if (this.#state !== inData) {
        this.#step(bytes[this.at++]!);
        continue;
      }
      const end = Math.min(bytes.length, this.at + this.#left);
      if (this.to !== this.at) bytes.copyWithin(this.to, this.at, end);
      this.to += end - this.at;
      this.#left -= end - this.at;
      this.at = end;
      if (this.#left === 0) this.#state = afterData;
    }
  }

  #step(byte: number): void {
    switch (this.#state) {
      case inSize:
        return this.#readSize(byte);
      case inExtensions:
        if (byte === carriageReturn) return this.#endExtensions();
        this.#extensions += String.fromCharCode(byte);
        if (this.#extensions.length > sizeLineLimitBytes) throw invalidResponse("endless chunk extensions");
        return;
      case afterSize:
        if (byte !== lineFeed) throw invalidResponse("no line feed after the size of a chunk");
        this.#left = this.#size;
        this.isOver = this.#size === 0;
        this.#state = inData;
        this.#digits = 0;
        this.#size = 0;
        return;
      case afterData:
        if (byte !== carriageReturn) throw invalidResponse("chunk longer than its size");
        this.#state = afterDataReturn;
        return;
      default:
        if (byte !== lineFeed) throw invalidResponse("no line feed after a chunk");
        this.#state = inSize;
    }
  }

  #readSize(byte: number): void {
    const digit = digitOf(byte);
    if (digit === -1) {
      if (this.#digits === 0 || (byte !== carriageReturn && byte !== semicolon))
        throw invalidResponse("invalid size of a chunk");
      this.#state = byte === semicolon ? inExtensions : afterSize;
      this.#extensions = byte === semicolon ? ";" : "";
      return;
    }
    if (++this.#digits > sizeLineLimitBytes) throw invalidResponse("invalid size of a chunk");
    this.#size = this.#size * 16 + digit;
    if (this.#size >= 16 ** maxDigits) throw invalidResponse("invalid size of a chunk");
  }

  #endExtensions(): void {
    if (!extensions.test(this.#extensions)) throw invalidResponse("invalid chunk extensions");
    this.#extensions = "";
    this.#state = afterSize;
  }
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
