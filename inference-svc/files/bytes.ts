/** The bytes of a file out of what a request says, and a text back into it, in pieces between which others have their turn. */
import { TextDecoder } from "node:util";
import type { Pauses } from "../turn/breath.ts";
import type { Enclosed } from "./part.ts";
import { FileProblem } from "./problem.ts";

/** UTF-16 units that are decoded at once: some milliseconds. A multiple of four, and of what a piece of base64 stands for. */
const piece = 1_048_576;

/** @throws FileProblem for what is not base64 */
export function* bytesOf(enclosed: Enclosed): Pauses<Buffer> {
  const pieces: Buffer[] = [];
  const decoded = enclosed.isBase64 ? fromBase64 : fromEscapes;
  for (const each of decoded(enclosed)) {
    pieces.push(each);
    yield;
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}

const foreign = /[^\w+/-]/;

function* fromBase64({ data, start }: Enclosed): Iterable<Buffer> {
  let rest = "";
  let isOver = false;
  for (let at = start; at < data.length; at += piece) {
    let said = data.slice(at, at + piece);
    if (/\s/.test(said)) said = said.replaceAll(/\s+/g, "");
    const padding = said.indexOf("=");
    const body = padding === -1 ? said : said.slice(0, padding);
    const isPadding = padding === -1 || /^=+$/.test(said.slice(padding));
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

function* fromEscapes({ data, start }: Enclosed): Iterable<Buffer> {
  const bytes = Buffer.from(data.slice(start));
  for (let at = 0; at < bytes.length; ) {
    const { said, next } = unescapedFrom(bytes, at, at + piece);
    yield said;
    at = next;
  }
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;

const percent = 0x25;

/** With the bytes that percent escapes stand for; what is no escape stays. */
export const unescaped = (bytes: Buffer): Buffer => unescapedFrom(bytes, 0, bytes.length).said;

/** @returns `next`: where the rest begins, behind the end when an escape reaches over it */
function unescapedFrom(bytes: Buffer, start: number, end: number): { readonly said: Buffer; readonly next: number } {
  const said = Buffer.allocUnsafe(Math.min(end, bytes.length) - start);
  let length = 0;
  let at = start;
  for (; at < end && at < bytes.length; at++) {
    const byte = bytes[at] as number;
    const value = byte === percent ? (hex(bytes[at + 1]) << 4) | hex(bytes[at + 2]) : -1;
    said[length++] = value < 0 ? byte : value;
    if (value >= 0) at += 2;
  }
  return { said: said.subarray(0, length), next: at };
}

/** -1 for what is no digit. */
function hex(byte = 0): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

/** @throws FileProblem for a charset that nobody knows */
export function* textOf(bytes: Buffer, charset: string | undefined): Pauses<string> {
  const decoder = decoderOf(bytes, charset);
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; at += piece) {
    pieces.push(decoder.decode(bytes.subarray(at, at + piece), { stream: true }));
    yield;
  }
  pieces.push(decoder.decode());
  return pieces.join("");
}

function decoderOf(bytes: Buffer, charset: string | undefined): TextDecoder {
  const label = markedAs(bytes) ?? charset ?? evident(bytes) ?? "utf-8";
  try {
    return new TextDecoder(label);
  } catch {
    throw new FileProblem(`its charset ${label.slice(0, 40)} is not known`);
  }
}

/** By the mark at its beginning, which counts before what anybody says. */
function markedAs(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? "utf-8" : undefined;
}

/** Every second byte of most texts in UTF-16 is zero; of no other text any is. */
function evident(bytes: Buffer): string | undefined {
  const looked = Math.min(bytes.length, 1_024);
  const zeros = [0, 0];
  for (let at = 0; at < looked; at++) if (bytes[at] === 0) zeros[at % 2]!++;
  const [even = 0, odd = 0] = zeros;
  if (odd * 4 > looked && even * 16 < looked) return "utf-16le";
  return even * 4 > looked && odd * 16 < looked ? "utf-16be" : undefined;
}

/** The text as the part says it: with the same words around it, in UTF-8. */
export function* enclosing(text: string, { data, start, isBase64, charset }: Enclosed): Pauses<string> {
  let head = data.slice(0, start);
  if (charset !== undefined) head = head.replace(/;\s*charset=[^;,]*/i, ";charset=utf-8");
  if (!isBase64) head = head.replace(/,$/, ";base64,");
  const pieces = [head];
  let rest = Buffer.alloc(0);
  for (let at = 0; at < text.length; ) {
    let end = Math.min(text.length, at + piece);
    if (end < text.length && isHigh(text.charCodeAt(end - 1))) end--;
    const bytes = Buffer.concat([rest, Buffer.from(text.slice(at, end))]);
    const whole = bytes.length - (bytes.length % 3);
    pieces.push(bytes.toString("base64", 0, whole));
    rest = bytes.subarray(whole);
    at = end;
    yield;
  }
  pieces.push(rest.toString("base64"));
  return pieces.join("");
}
