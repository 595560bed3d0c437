/** Server-sent events out of bytes, read as the HTML standard says, with limits. */
import { isUtf8 } from "node:buffer";
import type { Framing } from "./dialect.ts";
import { providerFailed } from "./failure.ts";

/** For one line and for the data of one event: a large image in base64 has 5 MiB, and the last event repeats every image of the answer. */
export const maxEventBytes = 16 * 1024 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;

const startsWithData = (line: Buffer): boolean =>
  line[0] === 0x64 && line[1] === 0x61 && line[2] === 0x74 && line[3] === 0x61 && line[4] === colon;

/** Name and data of an event; the name is undefined where the stream gave none. */
export type OnEvent = (name: string | undefined, data: string) => void;

export const serverSentEvents: Framing = {
  type: "text/event-stream",
  open(translator) {
    const scanner = new EventScanner((name, data) => {
      // The first end wins; servers have sent [DONE] twice, and data after it.
      // Some keep a connection alive with events that are empty.
      if (translator.done || data.trim() === "") return;
      if (data.startsWith("[DONE]")) translator.close();
      else translator.event(name, data);
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

/** Feed it bytes as they come, cut anywhere. */
export class EventScanner {
  readonly #onEvent: OnEvent;
  /** The beginning of a line whose end has not come yet: joined once, so that many small reads stay linear. */
  #carry: Buffer[] = [];
  #carryBytes = 0;
  #firstLine = true;
  /** The last byte was CR: a LF that follows belongs to it. */
  #skipLineFeed = false;
  #name = "";
  #data: string | undefined;
  #dataBytes = 0;

  constructor(onEvent: OnEvent) {
    this.#onEvent = onEvent;
  }

  /** @throws Fault on invalid UTF-8 (replaced characters in tool arguments would be silent corruption), and above the limits */
  feed(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (bytes.length === 0) return;
    let from = this.#skipLineFeed && bytes[0] === lineFeed ? 1 : 0;
    this.#skipLineFeed = false;
    let nextLineFeed = bytes.indexOf(lineFeed, from);
    let nextReturn = bytes.indexOf(carriageReturn, from);
    while (nextLineFeed !== -1 || nextReturn !== -1) {
      const byReturn = nextReturn !== -1 && (nextLineFeed === -1 || nextReturn < nextLineFeed);
      const end = byReturn ? nextReturn : nextLineFeed;
      this.#line(this.#whole(bytes.subarray(from, end)));
      from = end + 1;
      if (byReturn) {
        this.#skipLineFeed = from === bytes.length;
        if (bytes[from] === lineFeed) from++;
        nextReturn = bytes.indexOf(carriageReturn, from);
      }
      if (nextLineFeed !== -1 && nextLineFeed < from) nextLineFeed = bytes.indexOf(lineFeed, from);
    }
    if (from < bytes.length) this.#keep(bytes.subarray(from));
  }

  /**
   * The stream has ended. An event that lacks only its blank line is given out, which the standard would drop: some servers close right after
   * the last line. An unfinished line is dropped.
   */
  flush(): void {
    this.#dispatch();
  }

  #keep(rest: Buffer): void {
    this.#carry.push(rest);
    this.#carryBytes += rest.length;
    if (this.#carryBytes > maxEventBytes) throw providerFailed(`line of more than ${maxEventBytes} bytes`);
  }

  #whole(rest: Buffer): Buffer {
    if (this.#carryBytes === 0) return rest;
    this.#keep(rest);
    const line = Buffer.concat(this.#carry, this.#carryBytes);
    this.#carry = [];
    this.#carryBytes = 0;
    return line;
  }

  #line(bytes: Buffer): void {
    let line = bytes;
    if (this.#firstLine) {
      this.#firstLine = false;
      if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) line = line.subarray(3);
    }
    if (line.length === 0) return this.#dispatch();
    if (line.length > maxEventBytes) throw providerFailed(`line of more than ${maxEventBytes} bytes`);
    if (!isUtf8(line)) throw providerFailed("invalid UTF-8");
    // Nearly every line: worth not looking for its colon.
    if (startsWithData(line)) return this.#append(line, line[5] === space ? 6 : 5);
    const end = line.indexOf(colon);
    if (end === 0) return;
    const name = line.toString("latin1", 0, end === -1 ? line.length : end);
    const start = end === -1 ? line.length : line[end + 1] === space ? end + 2 : end + 1;
    if (name === "data") this.#append(line, start);
    else if (name === "event") this.#name = line.toString("utf8", start);
  }

  #append(line: Buffer, start: number): void {
    const value = line.toString("utf8", start);
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    this.#dataBytes += line.length - start + 1;
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
