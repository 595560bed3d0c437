/**
 * Admits RPC messages before they are read: connect-node reads a whole message before it calls a handler, so 60 callers without a key could send 48 MiB
 * each. The headers identify the sender, and memory is reserved as its message arrives.
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

/** A message is held twice: in its chunks, and as a whole. */
const copiesHeld = 2;
/** Bytes a client may send before any of its message is read. */
export const untrustedWindowBytes = 256 * 1024;
/** A session carries all turns of a gateway, and its throughput is at most one window per round trip. */
export const trustedWindowBytes = 4 * 1024 * 1024;

/** A process of Sluice as the sender: its messages are few and bounded, and their memory is reserved at the point of decoding. */
export const trustedSender = "trusted";

export interface Sender {
  /** The key for which memory is reserved. */
  readonly key: string;
  readonly maxBytes?: number;
}

export interface MessageAdmission {
  /**
   * The sender of a message, determined from its headers and the other end of its connection.
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

/** A health check has no sender, and its message is only the name of a service. */
const healthPath = "/grpc.health.v1.Health/";
const health: Sender = { key: healthPath, maxBytes: 4_096 };
/** Reflection calls have no sender either, and query only names, some dozens per client. */
const reflected: Sender = { key: reflectionPath, maxBytes: 65_536 };

const senderWithoutKey = (path: string): Sender | undefined =>
  path.startsWith(healthPath) ? health : path.startsWith(reflectionPath) ? reflected : undefined;

/** Wraps a handler, which reads admitted messages; a refused message fails as if it had not arrived. */
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

/** Reserves memory for a call, until its answer ends. */
function openRoom(budget: ByteBudget, key: string, response: Response): Reservation {
  const room = budget.open(key);
  if (response.closed) room.release();
  else response.once("close", () => room.release());
  return room;
}

/** Makes the client stop sending after it has read the refusal; otherwise it would fill its window and wait there. */
function endUnread(request: Request): void {
  if (request instanceof IncomingMessage) return;
  const { stream } = request;
  // Another listener, registered before this one, sends the status in the trailers.
  stream.once("wantTrailers", () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)));
}

const widened = new WeakSet<object>();

/** Runs once for all streams of a connection, because HTTP/2 has no window of this size for a single stream. */
export function widenWindow(session: Http2Session | undefined): void {
  if (!session || session.destroyed || widened.has(session)) return;
  widened.add(session);
  session.settings({ initialWindowSize: trustedWindowBytes });
}
