/**
 * Lets the messages of RPCs in before they are read: connect-node reads a whole message before it asks a handler, so that 60 callers without a
 * key could send 48 MiB each. Here the headers say who sends it, and memory is reserved for it as it arrives.
 */
import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Http2ServerRequest, constants } from "node:http2";
import type { ByteBudget, Reservation } from "../byte-budget.ts";
import { Fault, FaultReason } from "../fault.ts";
import type { RequestHandler } from "./connections.ts";
import { toConnectError } from "./status.ts";

/** A message is held as it arrived and in one piece. */
const copiesHeld = 2;
/** A client may send so much of a message before anybody has read of it. */
export const strangerWindowBytes = 256 * 1024;
/** One session carries all turns of a gateway: with a small window its throughput would be that much a round trip. */
export const trustedWindowBytes = 4 * 1024 * 1024;

/** One of our own processes: its messages are few, bounded, and reserved for where they are taken apart. */
export const trusted = "trusted";

export interface Sender {
  /** In whose name memory is reserved. */
  readonly key: string;
  readonly maxBytes?: number;
}

export interface MessageAdmission {
  /**
   * Who sends a message, by its headers alone.
   * @throws Fault where nobody may
   */
  readonly senderOf: (
    path: string,
    headers: IncomingHttpHeaders,
  ) => Sender | typeof trusted | Promise<Sender | typeof trusted>;
  readonly budget: ByteBudget;
}

type Request = Parameters<RequestHandler>[0];
type Response = Parameters<RequestHandler>[1];

/** A question about health, which anybody may ask, is the name of a service. */
const healthPath = "/grpc.health.v1.Health/";
const health: Sender = { key: healthPath, maxBytes: 4_096 };

/** The same handler, which reads the messages that are let in and fails on all others as if they had failed to arrive. */
export const admitting =
  (admission: MessageAdmission, handle: RequestHandler): RequestHandler =>
  (request, response) => {
    const chunks = request[Symbol.asyncIterator].bind(request) as () => AsyncIterableIterator<Buffer>;
    request[Symbol.asyncIterator] = () => admitted(admission, request, response, chunks);
    handle(request, response);
  };

async function* admitted(
  { senderOf, budget }: MessageAdmission,
  request: Request,
  response: Response,
  chunks: () => AsyncIterableIterator<Buffer>,
): AsyncGenerator<Buffer, undefined> {
  try {
    const path = request.url ?? "";
    const sender = path.startsWith(healthPath) ? health : await senderOf(path, request.headers);
    if (sender === trusted) {
      widen(request);
      return yield* chunks();
    }
    const room = openRoom(budget, sender.key, response);
    const ahead = Math.min(strangerWindowBytes, sender.maxBytes ?? strangerWindowBytes);
    await room.grow(ahead);
    yield* reserved(chunks(), room, sender.maxBytes);
    room.shrink(ahead);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    endUnread(request);
    throw toConnectError(error);
  }
}

async function* reserved(
  chunks: AsyncIterableIterator<Buffer>,
  room: Reservation,
  maxBytes = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer, undefined> {
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > maxBytes)
      throw new Fault(FaultReason.PAYLOAD_TOO_LARGE, `Message too large: at most ${maxBytes} bytes`);
    await room.grow(copiesHeld * chunk.length);
    yield chunk;
  }
}

/** Memory of one call, which ends with its answer. */
function openRoom(budget: ByteBudget, key: string, response: Response): Reservation {
  const room = budget.open(key);
  if (response.closed) room.release();
  else response.once("close", () => room.release());
  return room;
}

/** The client is told to send no more, once it has been told why: it would go on until its window is full, and wait there. */
function endUnread(request: Request): void {
  if (request instanceof IncomingMessage) return;
  const { stream } = request;
  // The status is in the trailers, which are sent by a listener before this one.
  stream.once("wantTrailers", () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)));
}

const widened = new WeakSet<object>();

/** Once for all streams of a connection: HTTP/2 has no window for a single one. */
function widen(request: Request): void {
  const session = request instanceof Http2ServerRequest ? request.stream.session : undefined;
  if (!session || session.destroyed || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: trustedWindowBytes });
}
