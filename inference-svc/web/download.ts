/** One GET to addresses that were checked before, of which no more is read than was agreed. */
import { type LookupFunction, isIPv6 } from "node:net";
import { type Readable, pipeline } from "node:stream";
import { Client, buildConnector } from "undici";
import { codingOf, unpackerOf } from "../upstream/coding.ts";
import { isPublic } from "./address.ts";
import type { Target } from "./target.ts";
import { Unread } from "./unread.ts";

/** After decompression. */
export const mostBytes = 10 * 1024 * 1024;
/** What compresses better is made to be unpacked, not to be read. */
const mostRatio = 50;
/** Below that any ratio is harmless. */
const ratioFromBytes = 256 * 1024;
const headersLimitBytes = 32 * 1024;
const connectMs = 5_000;

export interface Head {
  readonly status: number;
  /** Empty when there is none. */
  readonly type: string;
  readonly location: string | undefined;
}

/**
 * @param read what of it is wanted; the connection closes when that is done
 * @throws Unread; whatever the signal was aborted with
 */
export async function download<Result>(
  target: Target,
  userAgent: string,
  signal: AbortSignal,
  read: (head: Head, body: () => Promise<Buffer>) => Promise<Result>,
): Promise<Result> {
  const { url } = target;
  const client = new Client(url.origin, {
    connect: connectorTo(target),
    maxHeaderSize: headersLimitBytes,
    // The signal ends it.
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
    return await read(head, () => whole(body, codingOf(headers)));
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof Unread ? error : new Unread("the host does not answer as it should", { cause: error });
  } finally {
    // Also a body that nobody has read to its end.
    void client.destroy();
  }
}

const one = (header: string | string[] | undefined): string | undefined => (Array.isArray(header) ? header[0] : header);

/** The name goes into the handshake and the head, and is not resolved again. */
function connectorTo({ addresses, isBelieved }: Target): buildConnector.connector {
  const pinned = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const lookup: LookupFunction = (_host, options, done) => {
    const [first] = pinned;
    if (options.all === true) done(null, pinned);
    else if (first) done(null, first.address, first.family);
  };
  const connect = buildConnector({ lookup, timeout: connectMs, maxCachedSessions: 0 });
  return (options, done) =>
    connect(options, (...result) => {
      const [error, socket] = result;
      // What the system has made of the address in the end is what counts.
      if (error === null && !isBelieved && !isPublic(socket.remoteAddress ?? "")) {
        socket.destroy();
        return done(new Unread("a host that is not on the public internet"), null);
      }
      return done(...result);
    });
}

async function whole(body: Readable, coding: string | undefined): Promise<Buffer> {
  let packed = 0;
  const counted = async function* (source: AsyncIterable<Buffer>) {
    for await (const chunk of source) {
      packed += chunk.length;
      yield chunk;
    }
  };
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of unpacked(counted(body as AsyncIterable<Buffer>), coding)) {
    size += chunk.length;
    if (size > mostBytes) throw new Unread(`longer than ${mostBytes / 1024 / 1024} MiB`);
    if (size > ratioFromBytes && size > packed * mostRatio) throw new Unread("compressed more than pages are");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* unpacked(source: AsyncIterable<Buffer>, coding: string | undefined): AsyncIterable<Buffer> {
  if (coding === undefined) return yield* source;
  const unpacker = unpackerOf(coding);
  if (unpacker === undefined) throw new Unread("compressed in an unknown way");
  const [first, rest] = await begun(source);
  // Its errors come out of the loop below.
  yield* pipeline(rest, unpacker(first, false), () => {}) as AsyncIterable<Buffer>;
}

/** The beginning of a source, and all of it. */
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
