/**
 * Decompression of bodies (RFC 9110, 8.4.1). Sluice requests uncompressed answers from providers, but some proxies
 * compress them nevertheless.
 */
import type { Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

/**
 * Opens a decompressor that returns everything decodable after each chunk.
 * @param first first bytes of the body
 * @param mayBreakOff whether a truncated body ends without an error
 */
type OpenUnpacker = (first: Uint8Array, mayBreakOff: boolean) => Transform;

const { BROTLI_OPERATION_FINISH, BROTLI_OPERATION_FLUSH, Z_FINISH, Z_SYNC_FLUSH } = constants;
const lastFlush = (mayBreakOff: boolean) => ({ finishFlush: mayBreakOff ? Z_SYNC_FLUSH : Z_FINISH });
const gunzip: OpenUnpacker = (_, mayBreakOff) => createGunzip(lastFlush(mayBreakOff));

const unpackers: ReadonlyMap<string, OpenUnpacker> = new Map([
  ["gzip", gunzip],
  ["x-gzip", gunzip],
  [
    "deflate",
    // Some servers omit the header of zlib (RFC 9110, 8.4.1.2).
    ([first = 0], mayBreakOff) => ((first & 0x0f) === 8 ? createInflate : createInflateRaw)(lastFlush(mayBreakOff)),
  ],
  [
    "br",
    (_, mayBreakOff) =>
      createBrotliDecompress({ finishFlush: mayBreakOff ? BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_FINISH }),
  ],
]);

/** @returns undefined for an unknown coding */
export const findDecompressor = (coding: string): OpenUnpacker | undefined => unpackers.get(coding);

/**
 * Content codings in lower case, joined by a comma; undefined for an uncompressed body.
 * @param header all values of the content-encoding header, joined by commas
 */
export function parseContentCoding(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const codings = header
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  return codings.length === 0 ? undefined : codings.join(", ");
}

/** A source of bytes that can be paused and resumed. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/** Receives decompressed bytes. None of its methods is called after the body was closed. */
export interface BodyReader {
  readonly read: (chunk: Buffer) => void;
  /** Called when the bytes do not match the body's coding. */
  readonly unreadable: (cause: Error) => void;
}

/** Decompresses the body of one answer as it arrives, with backpressure. */
export class CodedBody implements Pausable {
  readonly #open: OpenUnpacker;
  readonly #source: Pausable;
  readonly #reader: BodyReader;
  #unpacker: Transform | undefined;
  /** Whether the end of the compressed data was reached, which may be before the end of the body. */
  #over = false;
  #then: (() => void) | undefined;
  #held = false;

  constructor(open: OpenUnpacker, source: Pausable, reader: BodyReader) {
    this.#open = open;
    this.#source = source;
    this.#reader = reader;
  }

  /** @param chunk valid only during the call, although another thread decompresses it later */
  write(chunk: Buffer): void {
    if (this.#over) return;
    this.#unpacker ??= this.#begin(chunk);
    if (this.#unpacker.write(Buffer.from(chunk)) || this.#held) return;
    this.#held = true;
    this.#source.pause();
  }

  #begin(first: Buffer): Transform {
    // A truncated body is no error here, because the reader of the answer notices that its end is missing.
    return this.#open(first, true)
      .on("data", this.#reader.read)
      .on("drain", () => this.#release())
      .on("end", () => this.#end())
      .on("error", (error) => {
        this.close();
        this.#reader.unreadable(error);
      });
  }

  /**
   * Ends the input.
   * @param then called once all of it was read
   */
  end(then: () => void): void {
    this.#then = then;
    if (this.#over || this.#unpacker === undefined) this.#end();
    else this.#unpacker.end();
  }

  #end(): void {
    this.#over = true;
    this.#release();
    this.#then?.();
    this.#then = undefined;
  }

  #release(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#source.resume();
  }

  pause(): void {
    this.#unpacker?.pause();
  }

  resume(): void {
    this.#unpacker?.resume();
  }

  /** Closes the body; everything that still arrives is discarded. */
  close(): void {
    this.#over = true;
    this.#then = undefined;
    this.#unpacker?.destroy();
    this.#release();
  }
}
