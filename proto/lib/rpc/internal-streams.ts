/**
 * Serves calls between Sluice processes as plain HTTP/2 streams without the gRPC library, whose work per message takes
 * longer than that of a small turn. Any gRPC client with the service token or a certificate may make such a call.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Http2SecureServer, Http2Server, Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { widenWindow } from "./admission.ts";
import { checkServiceToken, serviceTokenHeader } from "./caller.ts";
import type { Connections } from "./connections.ts";
import { keepAlive } from "./keep-alive.ts";
import { refuse } from "./server-stream.ts";
import type { ServiceToken } from "./service-token.ts";
import type { UnprovenConnections } from "./unproven.ts";

/** Handlers of admitted calls, by the path of the method. */
export type InternalCalls = ReadonlyMap<string, (stream: ServerHttp2Stream) => void>;

export interface InternalStreamsOptions {
  readonly calls: InternalCalls;
  /** The service token; undefined when every connection is authenticated by a certificate. */
  readonly token: ServiceToken | undefined;
  readonly connections: Connections;
  readonly unproven: UnprovenConnections;
}

type StreamListener = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => void;

/**
 * Content types served here. gRPC-Web, Connect and JSON are left to the library, which answers that the call is not
 * implemented.
 */
const contentTypes: ReadonlySet<unknown> = new Set(["application/grpc", "application/grpc+proto"]);

/** Takes over the streams of these calls from the server. Call it before the server listens. */
export function interceptStreams(server: Http2Server | Http2SecureServer, options: InternalStreamsOptions): void {
  const admitted = new WeakSet<Http2Session>();
  const [handle] = server.listeners("stream") as StreamListener[];
  if (!handle || options.calls.size === 0) return;
  server.off("stream", handle);
  const listener: StreamListener = (stream, headers, ...rest) => {
    const call = options.calls.get(headers[":path"] ?? "");
    if (!call || headers[":method"] !== "POST" || !contentTypes.has(headers["content-type"])) {
      return handle.call(server, stream, headers, ...rest);
    }
    options.unproven.wait(stream, () => {
      // The client may have reset the stream in the same packet that opened it, and to answer a reset stream throws.
      if (stream.destroyed || stream.closed) return;
      try {
        admit(headers, options.token);
      } catch (error) {
        return refuse(stream, error);
      }
      options.connections.hold(stream);
      trust(stream.session, admitted);
      call(stream);
    });
  };
  server.on("stream", listener);
}

/**
 * Checks the headers of a call. @throws Fault UNAUTHENTICATED, or ConnectError UNIMPLEMENTED for compressed messages
 */
function admit(headers: IncomingHttpHeaders, token: ServiceToken | undefined): void {
  const presented = headers[serviceTokenHeader];
  if (token !== undefined) checkServiceToken(typeof presented === "string" ? presented : null, token);
  const encoding = headers["grpc-encoding"] ?? "identity";
  if (encoding !== "identity") throw new ConnectError("compression is not supported", Code.Unimplemented);
}

function trust(session: Http2Session | undefined, admitted: WeakSet<Http2Session>): void {
  if (!session || admitted.has(session)) return;
  admitted.add(session);
  widenWindow(session);
  keepAlive(session);
}
