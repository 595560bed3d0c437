/** The other end of the connection of an RPC. */
import { type HandlerContext, createContextKey } from "@connectrpc/connect";
import type { IncomingMessage } from "node:http";
import { Http2ServerRequest } from "node:http2";
import { plainAddress } from "../networks/networks.ts";
import { clientAddressHeader, isServiceToken, serviceTokenHeader } from "./caller.ts";
import type { ServiceToken } from "./service-token.ts";

/** Address of the other end, for handlers; undefined once the connection is closed. */
export const peerAddressKey = createContextKey<string | undefined>(undefined);

/** The part of a call that names its caller. */
export type Calling = Pick<HandlerContext, "requestHeader" | "values" | "service" | "method">;

/** Path of the RPC of a call. */
export const callPath = ({ service, method }: Pick<Calling, "service" | "method">): string =>
  `/${service.typeName}/${method.name}`;

/** Plain address of the client of a call: named by a process of Sluice, or that of the connection; undefined where it is unknown. */
export function callerAddress({ requestHeader, values }: Calling, token: ServiceToken): string | undefined {
  const isOfSluice = isServiceToken(requestHeader.get(serviceTokenHeader), token);
  if (isOfSluice) return requestHeader.get(clientAddressHeader) ?? undefined;
  const address = values.get(peerAddressKey);
  return address === undefined ? undefined : plainAddress(address);
}

/** Undefined once the connection is closed. */
export function peerAddress(request: IncomingMessage | Http2ServerRequest): string | undefined {
  if (!(request instanceof Http2ServerRequest)) return request.socket.remoteAddress;
  const { session } = request.stream;
  // The socket of a destroyed session throws.
  return session === undefined || session.destroyed ? undefined : session.socket.remoteAddress;
}
