/**
 * Decodes the bytes of a file from base64 or percent escapes, and encodes bytes or a text back. Works in pieces, with
 * pauses for other turns.
 */
import type { Yielding } from "../../turn/time-slice.ts";
import type { EncodedFile } from "./data-url.ts";
import { FileProblem } from "./problem.ts";

/** UTF-16 units decoded per time slice, some milliseconds of work. A multiple of four: pieces end between base64 groups. */
const piece = 1_048_576;

/** Decodes the bytes of a file. @throws FileProblem for invalid base64 */
export function* decodeFile(enclosed: EncodedFile): Yielding<Buffer> {
  const pieces: Buffer[] = [];
  const decoded = enclosed.isBase64 ? fromBase64 : fromEscapes;
  for (const each of decoded(enclosed)) {
    pieces.push(each);
    yield;
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

const foreign = /[^\w+/-]/;

function* fromBase64({ data, start }: EncodedFile): Iterable<Buffer> {
  let rest = "";
  let isOver = false;
  for (let at = start; at < data.length; at += piece) {
    let chunk = data.slice(at, at + piece);
    if (/\s/.test(chunk)) chunk = chunk.replaceAll(/\s+/g, "");
    const padding = chunk.indexOf("=");
    const body = padding === -1 ? chunk : chunk.slice(0, padding);
    const isPadding = padding === -1 || /^=+$/.test(chunk.slice(padding));
    if (foreign.test(body) || !isPadding || (isOver && body !== ""))
      throw new FileProblem("its file_data is not base64");
    isOver ||= padding !== -1;
    rest += body;
    const whole = rest.length - (rest.length % 4);
    yield Buffer.from(rest.slice(0, whole), "base64");
    rest = rest.slice(whole);
  }
  yield Buffer.from(rest, "base64");
}

function* fromEscapes({ data, start }: EncodedFile): Iterable<Buffer> {
  const bytes = Buffer.from(data.slice(start));
  for (let at = 0; at < bytes.length; ) {
    const { chunk, next } = unescapedFrom(bytes, at, at + piece);
    yield chunk;
    at = next;
  }
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;

const percent = 0x25;

/** Decodes percent escapes; everything else stays unchanged. */
export const decodePercent = (bytes: Buffer): Buffer => unescapedFrom(bytes, 0, bytes.length).chunk;

/** @returns the decoded bytes, and as `next` the offset after the last byte read, greater than `end` when an escape extends over it */
function unescapedFrom(bytes: Buffer, start: number, end: number): { readonly chunk: Buffer; readonly next: number } {
  const chunk = Buffer.allocUnsafe(Math.min(end, bytes.length) - start);
  let length = 0;
  let at = start;
  for (; at < end && at < bytes.length; at++) {
    const byte = bytes[at] as number;
    const value = byte === percent ? (hex(bytes[at + 1]) << 4) | hex(bytes[at + 2]) : -1;
    chunk[length++] = value < 0 ? byte : value;
    if (value >= 0) at += 2;
  }
  return { chunk: chunk.subarray(0, length), next: at };
}

/** Value of a hexadecimal digit; -1 for any other byte. */
function hex(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/**
 * Encodes a file as a data URL every reader decodes alike: its only parameter is the charset, and its base64 is
 * canonical. A file from bare base64 stays bare base64.
 */
export function* encodeFile(contents: string | Buffer, { start, type, charset }: EncodedFile): Yielding<string> {
  const label = charset === undefined || typeof contents !== "string" ? "" : ";charset=utf-8";
  const pieces = [start === 0 ? "" : `data:${type}${label};base64,`];
  let rest = Buffer.alloc(0);
  for (let at = 0; at < contents.length; ) {
    let end = Math.min(contents.length, at + piece);
    if (typeof contents === "string" && end < contents.length && isHigh(contents.charCodeAt(end - 1))) end--;
    const added = typeof contents === "string" ? Buffer.from(contents.slice(at, end)) : contents.subarray(at, end);
    const bytes = Buffer.concat([rest, added]);
    const whole = bytes.length - (bytes.length % 3);
    pieces.push(bytes.toString("base64", 0, whole));
    rest = bytes.subarray(whole);
    at = end;
    yield;
  }
  pieces.push(rest.toString("base64"));
  return pieces.join("");
}
