/** The calls of an RPC server on a port of HTTP/1.1, which a cleartext HTTP/2 port cannot serve: for browsers, and for what speaks like them. */
import { cors as rpc } from "@connectrpc/connect";
import { type RequestListener, createServer } from "node:http";
import { maxConnections } from "../descriptors.ts";
import { corsFor } from "../http1/cors.ts";
import { hasUnknownFraming } from "../http1/framing.ts";
import { owe } from "../http1/owed.ts";
import { close, connectionsCheckingInterval, listen } from "../http1/server.ts";

/** A quarter of all descriptors is left for providers. */
const clientShare = 0.25;

export interface Http1Options {
  readonly port: number;
  /** All addresses of the machine when undefined. */
  readonly host?: string | undefined;
  /** Origins whose pages may call, or `*`; asked at every request, and made use of anew when it is another list. */
  readonly allowOrigins: () => readonly string[];
}

export interface Http1Server {
  readonly port: number;
  /** No new calls; settles when the last running one has ended. */
  drain(): Promise<void>;
}

export async function serveHttp1(handle: RequestListener, options: Http1Options): Promise<Http1Server> {
  const { port, host, allowOrigins } = options;
  let origins = allowOrigins();
  let cors = corsFor(origins, rpc.exposedHeaders);
  const server = createServer({ connectionsCheckingInterval }, (request, response) => {
    owe(request.socket, response);
    if (allowOrigins() !== origins) {
      origins = allowOrigins();
      cors = corsFor(origins, rpc.exposedHeaders);
    }
    if (hasUnknownFraming(request)) response.writeHead(400, { connection: "close" }).end();
    else if (!cors?.(request, response)) handle(request, response);
  });
  return {
    port: await listen(server, port, { host, maxConnections: maxConnections(clientShare) }),
    drain: () => close(server),
  };
}
