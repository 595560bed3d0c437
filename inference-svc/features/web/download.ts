/** Sends a GET request to addresses that were already checked, and limits the response. */
import { type Readable, pipeline } from "node:stream";
import { chunkOverheadBytes, heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { Client } from "undici";
import { parseContentCoding, findDecompressor } from "../../models/upstream/transport/content-coding.ts";
import { pinnedConnector } from "../../services/public-web/pinned-connector.ts";
import type { FetchTarget } from "../../services/public-web/fetch-target.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";

/** Maximum bytes of a response after decompression. */
export const maxBytes = 10 * 1024 * 1024;
/** Maximum compression ratio; a higher one is an attack, not a page. */
const maxRatio = 50;
/** Bytes after decompression below which any ratio is harmless. */
const ratioFromBytes = 256 * 1024;
const headersLimitBytes = 32 * 1024;

export interface ResponseHeader {
  readonly status: number;
  /** Value of the content-type header; empty when the response has none. */
  readonly type: string;
  readonly location: string | undefined;
}

/**
 * @param read reads the response; the connection closes afterwards
 * @throws PageUnreadable; the reason of the signal
 */
export async function download<Result>(
  target: FetchTarget,
  userAgent: string,
  signal: AbortSignal,
  read: (head: ResponseHeader, body: () => Promise<Buffer>) => Promise<Result>,
): Promise<Result> {
  const { url } = target;
  const client = new Client(url.origin, {
    connect: pinnedConnector(target),
    maxHeaderSize: headersLimitBytes,
    // undici's own time limits are off, because the signal ends the request in time.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    const { statusCode, headers, body } = await client.request({
      method: "GET",
      path: url.pathname + url.search,
      headers: {
        accept: "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1",
        "accept-encoding": "gzip, deflate, br",
        "user-agent": userAgent,
      },
      signal,
    });
    const head = { status: statusCode, type: one(headers["content-type"]) ?? "", location: one(headers["location"]) };
    return await read(head, () => whole(url.host, body, parseContentCoding(joinHeader(headers["content-encoding"]))));
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof PageUnreadable
      ? error
      : new PageUnreadable("the host does not answer correctly", { cause: error });
  } finally {
    // Closes the socket even if the body was not read to its end.
    void client.destroy();
  }
}

const joinHeader = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(",") : header;

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

async function whole(host: string, body: Readable, coding: string | undefined): Promise<Buffer> {
  let packed = 0;
  const counted = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      packed += chunk.length;
      yield chunk;
    }
  };
  const chunks: Buffer[] = [];
  let size = 0;
  const held = heldBytes.open(host, (fault) => body.destroy(fault));
  try {
    for await (const chunk of unpacked(counted(body as AsyncIterable<Buffer>), coding)) {
      size += chunk.length;
      if (size > maxBytes) throw new PageUnreadable(`longer than ${maxBytes / 1024 / 1024} MiB`);
      if (size > ratioFromBytes && size > packed * maxRatio) throw new PageUnreadable("compressed too much");
      held.grow(chunk.length + chunkOverheadBytes);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    held.release();
  }
}

async function* unpacked(source: AsyncIterable<Buffer>, coding: string | undefined): AsyncIterable<Buffer> {
  if (coding === undefined) return yield* source;
  const unpacker = findDecompressor(coding);
  if (unpacker === undefined) throw new PageUnreadable("an unknown content encoding");
  const [first, rest] = await begun(source);
  // Errors of the pipeline are thrown where it is read.
  yield* pipeline(rest, unpacker(first, false), () => {}) as AsyncIterable<Buffer>;
}

/** Reads the first chunk of a source. @returns it, and the source with it */
async function begun(source: AsyncIterable<Buffer>): Promise<[Buffer, AsyncIterable<Buffer>]> {
  const iterator = source[Symbol.asyncIterator]();
  const { value } = (await iterator.next()) as IteratorResult<Buffer, undefined>;
  const first = value ?? Buffer.alloc(0);
  const all = async function* () {
    yield first;
    yield* { [Symbol.asyncIterator]: () => iterator };
  };
  return [first, all()];
}
