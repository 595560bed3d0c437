/** The other end of the connection of an RPC. */
import { createContextKey } from "@connectrpc/connect";
import type { IncomingMessage } from "node:http";
import { Http2ServerRequest } from "node:http2";

/** Address of the other end, for handlers; undefined once the connection is closed. */
export const peerAddressKey = createContextKey<string | undefined>(undefined);

/** Undefined once the connection is closed. */
export function peerAddress(request: IncomingMessage | Http2ServerRequest): string | undefined {
  if (!(request instanceof Http2ServerRequest)) return request.socket.remoteAddress;
  const { session } = request.stream;
  // The socket of a destroyed session throws.
  return session === undefined || session.destroyed ? undefined : session.socket.remoteAddress;
}
