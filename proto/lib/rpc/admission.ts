/**
 * Decides whether RPC messages are read. connect-node reads a whole message before it calls a handler, so without this,
 * 60 callers without a key could send 48 MiB each. The headers identify the sender, and memory is reserved as the
 * message arrives.
 */
import { type IncomingHttpHeaders, IncomingMessage } from "node:http";
import { Http2ServerRequest, type Http2Session, constants } from "node:http2";
import type { ByteBudget, Reservation } from "../load/byte-budget.ts";
import { Fault, FaultReason } from "../faults/fault.ts";
import { serviceTokenHeader } from "./caller.ts";
import type { RequestHandler } from "./connections.ts";
import { peerAddress } from "./peer.ts";
import { reflectionPath } from "./reflection.ts";
import type { LogRefusal } from "./refusal-log.ts";
import { toConnectError } from "./status.ts";

/** Number of times that a message is in memory: in its chunks, and as a whole. */
const copiesHeld = 2;
/** Bytes that a client may send before any of its message is read. */
export const untrustedWindowBytes = 256 * 1024;
/**
 * Bytes that a gateway may send before they are read. A session carries all turns of a gateway, and transmits at most
 * one such window per round trip.
 */
export const trustedWindowBytes = 4 * 1024 * 1024;

/**
 * Sender for processes of Sluice, whose messages are few and limited in size; their memory is reserved when they are
 * decoded.
 */
export const trustedSender = "trusted";

export interface Sender {
  /** Key for which memory is reserved. */
  readonly key: string;
  readonly maxBytes?: number;
}

export interface MessageAdmission {
  /**
   * Identifies the sender of a message by its headers and the other end of its connection.
   * @param peer address of the other end; undefined once the connection is closed
   * @throws Fault when the message is refused
   */
  readonly senderOf: (
    path: string,
    headers: IncomingHttpHeaders,
    peer: string | undefined,
  ) => Sender | typeof trustedSender | Promise<Sender | typeof trustedSender>;
  readonly budget: ByteBudget;
}

type Request = Parameters<RequestHandler>[0];
type Response = Parameters<RequestHandler>[1];

/** Health checks have no sender; their messages contain only the name of a service. */
const healthPath = "/grpc.health.v1.Health/";
const health: Sender = { key: healthPath, maxBytes: 4_096 };
/** Sender of reflection calls, which have no key and request only names, some dozens per client. */
const reflected: Sender = { key: reflectionPath, maxBytes: 65_536 };

const senderWithoutKey = (path: string): Sender | undefined =>
  path.startsWith(healthPath) ? health : path.startsWith(reflectionPath) ? reflected : undefined;

/** Wraps a handler, so it reads only admitted messages; a refused call fails without its message being read. */
export const withAdmission =
  (admission: MessageAdmission, handle: RequestHandler, refused: LogRefusal): RequestHandler =>
  (request, response) => {
    const chunks = request[Symbol.asyncIterator].bind(request) as () => AsyncIterableIterator<Buffer>;
    request[Symbol.asyncIterator] = () => admitted(admission, refused, request, response, chunks);
    handle(request, response);
  };

async function* admitted(
  { senderOf, budget }: MessageAdmission,
  refused: LogRefusal,
  request: Request,
  response: Response,
  chunks: () => AsyncIterableIterator<Buffer>,
): AsyncGenerator<Buffer, undefined> {
  const path = request.url ?? "";
  try {
    const sender = senderWithoutKey(path) ?? (await senderOf(path, request.headers, peerAddress(request)));
    if (sender === trustedSender) {
      if (request instanceof Http2ServerRequest) widenWindow(request.stream.session);
      return yield* chunks();
    }
    const room = openRoom(budget, sender.key, response);
    const ahead = Math.min(untrustedWindowBytes, sender.maxBytes ?? untrustedWindowBytes);
    await room.grow(ahead);
    yield* reserved(chunks(), room, sender.maxBytes);
    room.shrink(ahead);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const presented = (request.headers[serviceTokenHeader] as string | undefined) ?? null;
    refused({ path, presented, authorization: request.headers.authorization, peer: peerAddress(request) }, error);
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

/** Reserves memory for a call until its answer ends. */
function openRoom(budget: ByteBudget, key: string, response: Response): Reservation {
  const room = budget.open(key);
  if (response.closed) room.release();
  else response.once("close", () => room.release());
  return room;
}

/** Makes the client stop sending after it has read the refusal; otherwise it would fill its window and wait. */
function endUnread(request: Request): void {
  if (request instanceof IncomingMessage) return;
  const { stream } = request;
  // Delayed, because a listener registered before this one sends the status in the trailers.
  stream.once("wantTrailers", () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)));
}

const widened = new WeakSet<object>();

/**
 * Widens the receive window of a connection, once for all of its streams, because HTTP/2 cannot do so for a single
 * stream.
 */
export function widenWindow(session: Http2Session | undefined): void {
  if (!session || session.destroyed || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: trustedWindowBytes });
}
