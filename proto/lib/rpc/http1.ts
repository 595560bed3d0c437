/** Serves the RPCs on an HTTP/1.1 port for browsers, which cannot use a cleartext HTTP/2 port. */
import { cors as rpc } from "@connectrpc/connect";
import { type RequestListener, createServer } from "node:http";
import { maxConnections } from "../load/descriptors.ts";
import { corsFor } from "../http1/cors.ts";
import { answerParseError, refuseAmbiguous } from "../http1/framing.ts";
import { addPendingResponse } from "../http1/pending-responses.ts";
import { close, connectionsCheckingInterval, listen } from "../http1/server.ts";

/**
 * Share of the file descriptors for clients of this port. The HTTP/2 port has half of them, so a quarter is left for
 * providers.
 */
const clientShare = 0.25;

export interface Http1Options {
  readonly port: number;
  /** Address on which to listen; undefined for all addresses of the machine. */
  readonly host?: string | undefined;
  /**
   * Returns the origins of pages with access, or `*`. It is called at every request, so a changed list takes
   * effect.
   */
  readonly allowOrigins: () => readonly string[];
}

export interface Http1Server {
  readonly port: number;
  /** Refuses new calls; settles when the last running call has ended. */
  drain(): Promise<void>;
}

/** @param share of the process's file descriptors that belongs to the service */
export async function serveHttp1(handle: RequestListener, options: Http1Options, share: number): Promise<Http1Server> {
  const { port, host, allowOrigins } = options;
  let origins = allowOrigins();
  let cors = corsFor(origins, rpc.exposedHeaders);
  const server = createServer({ connectionsCheckingInterval }, (request, response) => {
    addPendingResponse(request.socket, response);
    if (allowOrigins() !== origins) {
      origins = allowOrigins();
      cors = corsFor(origins, rpc.exposedHeaders);
    }
    if (!refuseAmbiguous(request, response) && !cors?.(request, response)) handle(request, response);
  });
  server.on("clientError", answerParseError);
  return {
    port: await listen(server, port, { host, maxConnections: maxConnections(clientShare * share) }),
    drain: () => close(server),
  };
}
