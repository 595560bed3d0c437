/** The network address of the other end of an RPC connection. */
import { type HandlerContext, createContextKey } from "@connectrpc/connect";
import type { IncomingMessage } from "node:http";
import { Http2ServerRequest } from "node:http2";
import { plainAddress } from "../networks/networks.ts";
import { clientAddressHeader, isServiceToken, serviceTokenHeader } from "./caller.ts";
import type { ServiceToken } from "./service-token.ts";

/** Context key for the address of the other end; undefined once the connection is closed. */
export const peerAddressKey = createContextKey<string | undefined>(undefined);

/** The parts of a call that identify its caller. */
export type Calling = Pick<HandlerContext, "requestHeader" | "values" | "service" | "method">;

/** Path of the called RPC. */
export const callPath = ({ service, method }: Pick<Calling, "service" | "method">): string =>
  `/${service.typeName}/${method.name}`;

/**
 * Normalized address of the client: the one that a process of Sluice sends, or that of the connection; undefined when
 * unknown.
 */
export function callerAddress({ requestHeader, values }: Calling, token: ServiceToken): string | undefined {
  const isOfSluice = isServiceToken(requestHeader.get(serviceTokenHeader), token);
  if (isOfSluice) return requestHeader.get(clientAddressHeader) ?? undefined;
  const address = values.get(peerAddressKey);
  return address === undefined ? undefined : plainAddress(address);
}

/** Address of the other end; undefined once the connection is closed. */
export function peerAddress(request: IncomingMessage | Http2ServerRequest): string | undefined {
  if (!(request instanceof Http2ServerRequest)) return request.socket.remoteAddress;
  const { session } = request.stream;
  // Reading the socket of a destroyed session would throw.
  return session === undefined || session.destroyed ? undefined : session.socket.remoteAddress;
}
