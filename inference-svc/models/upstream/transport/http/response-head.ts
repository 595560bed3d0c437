/**
 * Parses the head of a response, whose bytes are already checked: its status, its fields, and what they mean for the
 * body and the connection.
 */
import { parseContentCoding } from "../content-coding.ts";
import { invalidResponse } from "./connection-error.ts";
import { unitAt } from "@sluice/proto/lib/text/unit-at.js";

/** Value for a content length the head does not state. */
export const noLength = -1;

/** Header fields of a response; proxies may repeat one. */
export interface ResponseFields {
  /**
   * The first value of a field.
   * @param name name of the field in lower case
   */
  first(name: string): string | undefined;
}

const space = 0x20;
const tab = 0x09;
const statusAt = "HTTP/1.1 ".length;

export class ResponseHead implements ResponseFields {
  readonly #text: string;
  #isClosing = false;
  readonly status: number;
  contentLength = noLength;
  isChunked = false;
  /** Whether the server keeps the connection open after the body. */
  keepsAlive: boolean;
  /** The first content-type; empty when there is none. */
  contentType = "";
  /** Content codings in lower case, joined by a comma; undefined for an uncompressed body. */
  contentCoding: string | undefined;
  /** Seconds for which the server keeps an idle connection; infinite when it states no time. */
  keepAliveSeconds = Number.POSITIVE_INFINITY;

  /**
   * @param text the head in latin1, from the status line to the empty line
   * @throws ConnectionError if the head does not state in a known way where the body ends
   */
  constructor(text: string) {
    this.#text = text;
    const isOld = !text.startsWith("HTTP/1.1");
    this.keepsAlive = !isOld;
    this.status = Number(text.slice(statusAt, statusAt + 3));
    this.#readFields(text);
    if (this.isChunked && this.contentLength !== noLength)
      throw invalidResponse("both content-length and transfer-encoding");
    // HTTP/1.0 has no chunked coding, so an intermediary may see another end of the body (RFC 9112, 6.1).
    if (isOld && this.isChunked) this.keepsAlive = false;
  }

  #readFields(text: string): void {
    for (let at = text.indexOf("\r\n") + 2; unitAt(text, at) !== 0x0d; ) {
      const end = text.indexOf("\r\n", at);
      this.#readField(text, at, end);
      at = end + 2;
    }
    if (this.#isClosing) this.keepsAlive = false;
    if (this.contentCoding !== undefined) this.contentCoding = parseContentCoding(this.contentCoding);
  }

  /** Reads a field. Nearly all names needed differ in their lengths, which are compared first. */
  #readField(text: string, at: number, end: number): void {
    switch (text.indexOf(":", at) - at) {
      case 10:
        if (isNamed(text, at, "connection")) this.#readOptions(valueOf(text, at + 11, end).toLowerCase());
        else if (isNamed(text, at, "keep-alive"))
          this.keepAliveSeconds = secondsOf(valueOf(text, at + 11, end), this.keepAliveSeconds);
        return;
      case 12:
        if (this.contentType === "" && isNamed(text, at, "content-type"))
          this.contentType = valueOf(text, at + 13, end);
        return;
      case 14:
        if (isNamed(text, at, "content-length")) this.#readLength(text.slice(at + 15, end));
        return;
      case 16:
        if (isNamed(text, at, "content-encoding")) this.#addCoding(valueOf(text, at + 17, end));
        return;
      case 17:
        if (isNamed(text, at, "transfer-encoding")) this.#readTransfer(valueOf(text, at + 18, end));
    }
  }

  #readOptions(options: string): void {
    if (hasOption(options, "close")) this.#isClosing = true;
    else if (hasOption(options, "keep-alive")) this.keepsAlive = true;
  }

  #addCoding(value: string): void {
    this.contentCoding = this.contentCoding === undefined ? value : `${this.contentCoding}, ${value}`;
  }

  #readLength(value: string): void {
    if (this.contentLength !== noLength) throw invalidResponse("several fields content-length");
    // A number represents every length of 15 digits exactly.
    if (!/^[ \t]*\d{1,15} *$/.test(value)) throw invalidResponse("invalid content-length");
    this.contentLength = Number(value);
  }

  /** Reads transfer-encoding. The only known coding, chunked, marks the end of the body; some proxies repeat it. */
  #readTransfer(value: string): void {
    if (value.toLowerCase() !== "chunked") throw invalidResponse("transfer-encoding other than chunked");
    this.isChunked = true;
  }

  first(name: string): string | undefined {
    const text = this.#text;
    for (let at = text.indexOf("\r\n") + 2; unitAt(text, at) !== 0x0d; ) {
      const end = text.indexOf("\r\n", at);
      if (unitAt(text, at + name.length) === 0x3a && isNamed(text, at, name))
        return valueOf(text, at + name.length + 1, end);
      at = end + 2;
    }
    return undefined;
  }
}

/** Whether a line begins with a name, in upper or lower case. */
function isNamed(text: string, at: number, name: string): boolean {
  for (let index = 0; index < name.length; index++) {
    const code = unitAt(text, at + index);
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code;
    if (lower !== unitAt(name, index)) return false;
  }
  return true;
}

function valueOf(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(unitAt(text, start))) start++;
  while (end > start && isBlank(unitAt(text, end - 1))) end--;
  return text.slice(start, end);
}

const isBlank = (code: number): boolean => code === space || code === tab;

const hasOption = (list: string, option: string): boolean =>
  list === option || (list.includes(",") && list.split(",").some((entry) => entry.trim() === option));

function secondsOf(value: string, otherwise: number): number {
  const seconds = /timeout=(\d+)/.exec(value)?.[1];
  return seconds === undefined ? otherwise : Number(seconds);
}
