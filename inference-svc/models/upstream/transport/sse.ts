/** A parser for server-sent events as in the HTML standard, with limits of size. */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { isUtf8 } from "node:buffer";
import { append } from "@sluice/proto/lib/text/append.js";
import type { Framing } from "../dialect.ts";
import { providerFailed } from "../failure.ts";
import { isObject } from "../json.ts";
import { joinCharacter } from "./split-character.ts";

/**
 * Maximum bytes of a line, and of the data of an event. A large image in base64 has 5 MiB, and the last event repeats
 * every image of the answer.
 */
export const maxEventBytes = 16 * 1024 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;

const startsWithData = (bytes: Buffer, at: number): boolean =>
  bytes[at] === 0x64 &&
  bytes[at + 1] === 0x61 &&
  bytes[at + 2] === 0x74 &&
  bytes[at + 3] === 0x61 &&
  bytes[at + 4] === colon;

/** Called with the name and data of each event; the name is undefined when the stream has none. */
export type OnEvent = (name: string | undefined, data: string) => void;

export const serverSentEvents: Framing = {
  type: "text/event-stream",
  open(translator) {
    const scanner = new EventScanner((name, data) => {
      // Events after the end are ignored, because servers have sent [DONE] twice, and data after it. Empty events are
      // keep-alives of some servers.
      if (translator.done || data.trim() === "") return;
      if (data.startsWith("[DONE]")) translator.close(true);
      else if (contentStart.test(data) || name === "error") translator.event(name, data);
    });
    return {
      feed: (chunk) => scanner.feed(chunk),
      end() {
        scanner.flush();
        if (!translator.done) translator.close();
      },
    };
  },
};

/**
 * Matches the start of content, which is an object or a list of objects. Servers and proxies also send words such as
 * `ok`, `null` and `[PING]` to keep a connection open.
 */
const contentStart = /^\s*(?:\{|\[\s*[{\]])/;

/** Scans bytes in chunks that may be cut anywhere. Only an incomplete line is copied and kept. */
export class EventScanner {
  readonly #onEvent: OnEvent;
  /** Chunks with the start of an incomplete line. They are joined only once, so many small reads take linear time. */
  #carry: Buffer[] | undefined;
  #carryBytes = 0;
  #isFirstLine = true;
  /** Whether a CR was read, to which an LF that follows belongs. */
  #skipsLineFeed = false;
  /** Whether all lines that end in this chunk are valid UTF-8, so no line needs a check. */
  #isValid = false;
  /** The first bytes of a character the next line continues. */
  #left: Buffer | undefined;
  #name = "";
  #data: string | undefined;
  #dataBytes = 0;

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  /**
   * Reads a chunk. @throws Fault beyond the limits, and for invalid UTF-8 unless a character is divided between two
   * events: replacement characters in tool arguments would be silent corruption
   */
  feed(chunk: Uint8Array): void {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (bytes.length === 0) return;
    let from = this.#skipsLineFeed && bytes[0] === lineFeed ? 1 : 0;
    this.#skipsLineFeed = false;
    this.#isValid = false;
    if (this.#carryBytes === 0) this.#check(bytes, from);
    let nextReturn = bytes.indexOf(carriageReturn, from);
    let nextLineFeed = bytes.indexOf(lineFeed, from);
    while (nextLineFeed !== -1 || nextReturn !== -1) {
      const byReturn = nextReturn !== -1 && (nextLineFeed === -1 || nextReturn < nextLineFeed);
      const end = byReturn ? nextReturn : nextLineFeed;
      if (this.#carryBytes === 0) this.#line(bytes, from, end);
      else {
        this.#joinLine(bytes.subarray(from, end));
        this.#check(bytes, end);
      }
      from = end + 1;
      if (byReturn) {
        this.#skipsLineFeed = from === bytes.length;
        if (bytes[from] === lineFeed) from++;
        nextReturn = bytes.indexOf(carriageReturn, from);
      }
      // The empty line after an event is the most frequent line.
      if (nextLineFeed !== -1 && nextLineFeed < from)
        nextLineFeed = bytes[from] === lineFeed ? from : bytes.indexOf(lineFeed, from);
    }
    if (from < bytes.length) this.#keep(Buffer.from(bytes.subarray(from)));
  }

  /**
   * Ends the stream. An event that lacks only its blank line or the end of its last line is delivered, although the
   * standard would drop it: some servers close right after the last character. A truncated line is dropped.
   */
  flush(): void {
    if (this.#carryBytes > 0) {
      const line = Buffer.concat(this.#carry ?? [], this.#carryBytes);
      this.#carry = undefined;
      this.#carryBytes = 0;
      if (isWholeData(line)) this.#line(line, 0, line.length);
    }
    this.#dispatch();
  }

  /**
   * Checks all complete lines of a chunk at once. If this fails, each line is checked, so the lines in front of the
   * invalid one are read.
   */
  #check(bytes: Buffer, from: number): void {
    const last = bytes.lastIndexOf(lineFeed);
    this.#isValid = last > from && isUtf8(bytes.subarray(from, last));
  }

  #keep(rest: Buffer): void {
    this.#carry ??= [];
    this.#carry.push(rest);
    this.#carryBytes += rest.length;
    if (this.#carryBytes > maxEventBytes) throw providerFailed(`line of more than ${maxEventBytes} bytes`);
  }

  /** Reads a line that started in earlier chunks. */
  #joinLine(rest: Buffer): void {
    this.#keep(rest);
    const line = Buffer.concat(this.#carry ?? [], this.#carryBytes);
    this.#carry = undefined;
    this.#carryBytes = 0;
    this.#line(line, 0, line.length);
  }

  #line(bytes: Buffer, from: number, to: number): void {
    let start = from;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      if (to - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf)
        start += 3;
    }
    if (start === to) return this.#dispatch();
    if (to - start > maxEventBytes) throw providerFailed(`line of more than ${maxEventBytes} bytes`);
    if (this.#left !== undefined || (!this.#isValid && !isUtf8(bytes.subarray(start, to)))) {
      return this.#field(...this.#joinCharacter(bytes.subarray(start, to)));
    }
    this.#field(bytes, start, to);
  }

  /**
   * Joins a character the server has divided between two events. @throws Fault when the bytes do not begin a character,
   * or its rest does not follow
   */
  #joinCharacter(line: Buffer): [bytes: Buffer, from: number, to: number] {
    const wholeLine = joinCharacter(line, this.#left ?? line.subarray(0, 0));
    if (wholeLine === undefined) throw providerFailed("invalid UTF-8");
    this.#left = wholeLine.left.length === 0 ? undefined : wholeLine.left;
    return [wholeLine.line, 0, wholeLine.line.length];
  }

  #field(bytes: Buffer, start: number, to: number): void {
    // Nearly every line begins with `data:`, so this is checked without a search for the colon.
    if (to - start >= 5 && startsWithData(bytes, start)) this.#append(bytes, afterColon(bytes, start + 4), to);
    else this.#otherField(bytes, start, to);
  }

  #otherField(bytes: Buffer, from: number, to: number): void {
    let end = from;
    while (end < to && bytes[end] !== colon) end++;
    if (end === from) return;
    const name = bytes.toString("latin1", from, end);
    const start = end === to ? to : afterColon(bytes, end);
    if (name === "data") this.#append(bytes, start, to);
    else if (name === "event") this.#name = bytes.toString("utf8", start, to);
  }

  #append(bytes: Buffer, start: number, to: number): void {
    const value = bytes.toString("utf8", start, to);
    this.#data = this.#data === undefined ? value : append(this.#data, `\n${value}`);
    this.#dataBytes += to - start + 1;
    if (this.#dataBytes > maxEventBytes) throw providerFailed(`event of more than ${maxEventBytes} bytes`);
  }

  #dispatch(): void {
    const name = this.#name;
    const data = this.#data;
    this.#name = "";
    this.#data = undefined;
    this.#dataBytes = 0;
    if (data !== undefined) this.#onEvent(name === "" ? undefined : name, data);
  }
}

/** Whether a line contains complete data, and not the start of longer data. */
function isWholeData(line: Buffer): boolean {
  if (!isUtf8(line) || !startsWithData(line, 0)) return false;
  const value = line.toString("utf8", afterColon(line, 4));
  if (value === "[DONE]") return true;
  try {
    return isObject(parseWithin(value));
  } catch {
    return false;
  }
}

/** The index of a field's value, after an optional space. */
const afterColon = (bytes: Buffer, at: number): number => (bytes[at + 1] === space ? at + 2 : at + 1);
