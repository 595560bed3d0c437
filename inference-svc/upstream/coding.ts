/** Codings of bodies (RFC 9110, 8.4.1). Providers are asked for none: proxies before them add one all the same. */
import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

/**
 * How a body is unpacked: all that can be read of what was written comes out at once.
 *
 * @param first bytes of the body
 * @param mayBreakOff a body whose end is missing ends without an error
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
    // Some servers leave out the head that it should have (RFC 9110, 8.4.1.2).
    ([first = 0], mayBreakOff) => ((first & 0x0f) === 8 ? createInflate : createInflateRaw)(lastFlush(mayBreakOff)),
  ],
  [
    "br",
    (_, mayBreakOff) =>
      createBrotliDecompress({ finishFlush: mayBreakOff ? BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_FINISH }),
  ],
]);

/** Undefined for a coding that is unknown. */
export const unpackerOf = (coding: string): OpenUnpacker | undefined => unpackers.get(coding);

/** In lower case, several joined by a comma; undefined where the body is not coded. */
export function codingOf(headers: IncomingHttpHeaders): string | undefined {
  const header = headers["content-encoding"];
  if (header === undefined) return undefined;
  const codings = [header]
    .flat()
    .flatMap((value) => value.toLowerCase().split(","))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  return codings.length === 0 ? undefined : codings.join(", ");
}

/** Where the bytes come from. */
export interface Flow {
  pause(): void;
  resume(): void;
}

/** Who reads what was unpacked. Neither is called once the body was closed. */
export interface BodyReader {
  readonly read: (chunk: Buffer) => void;
  /** What came is not in that coding. */
  readonly unreadable: (cause: Error) => void;
}

/** The body of one answer, unpacked as it comes. It flows no faster than it is read. */
export class CodedBody implements Flow {
  readonly #open: OpenUnpacker;
  readonly #source: Flow;
  readonly #reader: BodyReader;
  #unpacker: Transform | undefined;
  /** Nothing comes any more: the coding has its own end, which may be before that of the body. */
  #over = false;
  #then: (() => void) | undefined;
  #held = false;

  constructor(open: OpenUnpacker, source: Flow, reader: BodyReader) {
    this.#open = open;
    this.#source = source;
    this.#reader = reader;
  }

  write(chunk: Buffer): void {
    if (this.#over) return;
    this.#unpacker ??= this.#begin(chunk);
    if (this.#unpacker.write(chunk) || this.#held) return;
    this.#held = true;
    // Not before all of the read is taken: undici puts the rest of it back, reads more behind it, and copies all of that each time it goes on.
    process.nextTick(() => {
      if (this.#held) this.#source.pause();
    });
  }

  #begin(first: Buffer): Transform {
    // As with a body that is not coded, its reader knows whether anything is missing.
    return this.#open(first, true)
      .on("data", this.#reader.read)
      .on("drain", () => this.#release())
      .on("end", () => this.#end())
      .on("error", (error) => {
        this.close();
        this.#reader.unreadable(error);
      });
  }

  /** Nothing more is written. @param then called when what was written has been read */
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

  /** What still comes is not unpacked. */
  close(): void {
    this.#over = true;
    this.#then = undefined;
    this.#unpacker?.destroy();
    this.#release();
  }
}
