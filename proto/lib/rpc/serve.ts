/**
 * Serves gRPC, gRPC-Web and Connect on one HTTP/2 port, in clear text or with TLS, with health checks and a shutdown
 * that lets running calls finish.
 */
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Http2SecureServer, type Http2Server, type ServerHttp2Session, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Health } from "../../gen/grpc/health/v1/health_pb.ts";
import { maxConnections } from "../load/descriptors.ts";
import { Fault } from "../faults/fault.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import type { Logger } from "../log/log.ts";
import { type ServerTls, createTlsServer } from "../tls/server.ts";
import type { Registry } from "../metrics/metrics.ts";
import { serviceTokenHeader } from "./caller.ts";
import { type MessageAdmission, withAdmission, untrustedWindowBytes, trustedWindowBytes } from "./admission.ts";
import { Connections, type RequestHandler } from "./connections.ts";
import { health } from "./health.ts";
import { type Http1Options, serveHttp1 } from "./http1.ts";
import { type InternalCalls, interceptStreams } from "./internal-streams.ts";
import type { Tracing } from "../tracing/span.ts";
import { tracedCalls } from "../tracing/rpc.ts";
import { callPath, peerAddressKey } from "./peer.ts";
import { reflection, reflectionServices } from "./reflection.ts";
import { type LogRefusal, type RefusedCall, refusalLog } from "./refusal-log.ts";
import { callMetricsInterceptor } from "./measure.ts";
import { toConnectError } from "./status.ts";
import { reduceStatusEscapes } from "./status-text.ts";
import type { ServiceToken } from "./service-token.ts";
import { refuseUnknownFields } from "./strict.ts";
import { UnprovenConnections, connectionOf, maxConcurrentStreams, maxConcurrentStreamsUnproven } from "./unproven.ts";

/** Maximum size of an RPC message, 48 MiB: a body of 32 MiB, with room for what surrounds it. */
export const maxMessageBytes = 48 * 1024 * 1024;

/**
 * Maximum number of stream resets in a connection. Node closes a connection after 1,000 resets in a burst, and with it
 * the streams of all its callers. Node 20 ignores this setting.
 */
const resetLimits = { streamResetBurst: 100_000, streamResetRate: 100_000 };
/** HTTP/2 settings of a connection until one of its calls is authenticated. */
const openOptions = {
  settings: { initialWindowSize: untrustedWindowBytes, maxConcurrentStreams: maxConcurrentStreamsUnproven },
  ...resetLimits,
};
/** HTTP/2 settings of a connection with a client certificate. */
const certifiedOptions = { settings: { initialWindowSize: trustedWindowBytes, maxConcurrentStreams }, ...resetLimits };

/**
 * Compression is off in both directions: the processes are near each other, and gzip, which grpc-js accepts by default,
 * took a third of the processor time of a small turn. Besides, a stranger's few compressed kilobytes would unpack to
 * the maximum message size.
 */
const uncompressed = { acceptCompression: [] };

/**
 * Milliseconds after which a connection without calls may be closed: processes of Sluice probe their connections every
 * 10 s.
 */
const idleMs = 60_000;

/**
 * Share of the file descriptors for clients of this port. The other half is for providers, the database and the
 * HTTP/1.1 port.
 */
const clientShare = 0.5;

export interface RpcServerOptions {
  readonly port: number;
  /** Address on which to listen; undefined for all addresses of the machine. */
  readonly host?: string | undefined;
  /** Fraction of the process's file descriptors for this service; by default 1. */
  readonly share?: number;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Services in `routes`, for health checks and reflection. */
  readonly services: readonly DescService[];
  readonly routes: (router: ConnectRouter) => void;
  /** Decides which callers may send messages; by default all may. */
  readonly admission?: MessageAdmission;
  /** Full names of services that refuse unary requests with fields unknown to this build. */
  readonly strict?: readonly string[];
  /** Registry for metrics of calls. */
  readonly registry?: Registry;
  readonly tracing?: Tracing | undefined;
  /**
   * Handlers, by path, for calls that clients end during a shutdown; they are served without the gRPC library. A
   * connection gets its GOAWAY only after the last such call, because grpc-js drops a connection with a GOAWAY at its
   * next keep-alive, with all open calls.
   */
  readonly internalCalls?: InternalCalls;
  /** Maximum size of a message in bytes; by default 48 MiB. */
  readonly readMaxBytes?: number;
  /** Service token. A connection with a call that presents it may open any number of streams. */
  readonly token?: ServiceToken | undefined;
  /** Whether lines about refused calls contain the address of the client; by default they do not. */
  readonly logsAddresses?: () => boolean;
  /** Certificates of the port; in clear text without them. */
  readonly tls?: ServerTls | undefined;
  /** A second port, in clear text, for the same calls over HTTP/1.1. It refuses bidirectional streams with 505. */
  readonly http1?: Http1Options | undefined;
}

export interface RpcServer {
  readonly port: number;
  readonly http1Port: number | undefined;
  /** Refuses new calls; settles when the last running call has ended. */
  drain(): Promise<void>;
}

export async function serveRpc(options: RpcServerOptions): Promise<RpcServer> {
  const connections = new Connections();
  const { tls, log, token, admission, internalCalls = new Map(), share = 1 } = options;
  const unproven = new UnprovenConnections({ token, log });
  const refused = refusalLog(options);
  const serve = handlerOf(options, unproven, refused);
  const handle = unproven.inTurn(admission ? withAdmission(admission, serve, refused) : serve);
  const server = tls ? createTlsServer(tls, certifiedOptions, log, handle) : createServer(openOptions, handle);
  interceptStreams(server, { calls: internalCalls, token: tls ? undefined : token, connections, unproven });
  if (!tls) unproven.guard(server);
  server.on("session", (session: ServerHttp2Session) => {
    if (session.destroyed) return; // refused for its certificate
    connections.add(session);
    // A connection with a client certificate needs no further authentication.
    if (!tls) unproven.add(session);
    session.setLocalWindowSize(16 * 1024 * 1024);
    session.setTimeout(idleMs, () => connections.endIdle(session));
    session.on("error", (error) => log.debug({ err: error }, "connection failed"));
  });
  server.on("error", (error) => log.error({ err: error }, "rpc server failed"));
  server.maxConnections = maxConnections(clientShare * share);
  await listen(server, options);
  const http1 = options.http1 && (await serveHttp1(handle, options.http1, share));
  return {
    port: (server.address() as AddressInfo).port,
    http1Port: http1?.port,
    drain: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      connections.drain();
      await Promise.all([closed, http1?.drain()]);
    },
  };
}

function handlerOf(
  {
    routes,
    strict = [],
    log,
    tracing,
    registry,
    readMaxBytes = maxMessageBytes,
    services,
    lifecycle,
  }: RpcServerOptions,
  unproven: UnprovenConnections,
  refused: LogRefusal,
): RequestHandler {
  const handle = connectNodeAdapter({
    routes: (router) => {
      router.service(Health, health({ lifecycle, serviceNames: services.map(({ typeName }) => typeName) }));
      const reflected = reflection([...services, Health, ...reflectionServices], lifecycle);
      for (const service of reflectionServices) router.service(service, reflected);
      routes(router);
    },
    // The first interceptor is the outermost, so it sees the final status.
    interceptors: [
      ...(tracing ? [tracedCalls(tracing)] : []),
      ...(registry ? [callMetricsInterceptor(registry)] : []),
      faults(log, refused),
      unproven.interceptor,
      refuseUnknownFields(strict),
    ],
    contextValues: connectionOf,
    readMaxBytes,
    writeMaxBytes: maxMessageBytes,
    // Fields of JSON messages have no numbers by which `strict` could check them, so the parser refuses unknown names.
    jsonOptions: { ignoreUnknownFields: false },
    ...uncompressed,
    grpcWeb: true,
    connect: true,
    grpc: true,
  });
  return (request, response) => {
    reduceStatusEscapes(response);
    try {
      handle(request, response);
    } catch {
      // The adapter builds a URL from the client's Host header, and an uncaught error there would end the process.
      response.statusCode = 400;
      response.end();
    }
  };
}

function listen(
  server: Http2Server | Http2SecureServer,
  { port, host }: Pick<RpcServerOptions, "port" | "host">,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

const refusedCall = (request: Parameters<ReturnType<Interceptor>>[0]): RefusedCall => ({
  path: callPath(request),
  presented: request.header.get(serviceTokenHeader),
  authorization: request.header.get("authorization"),
  peer: request.contextValues.get(peerAddressKey),
});

/**
 * The only place where an error becomes a gRPC status: handlers throw Faults; the text of any other error is hidden
 * from clients and logged.
 */
const faults =
  (log: Logger, refused: LogRefusal): Interceptor =>
  (next) =>
  async (request) => {
    const translate = (error: unknown) => {
      // Over HTTP/1.1, the error for an aborted call is no ConnectError. A client that disconnects is no failure of the
      // server.
      if (request.signal.aborted && error === request.signal.reason) return ConnectError.from(error, Code.Canceled);
      const translated = toConnectError(error);
      const fault = error instanceof Fault ? error : undefined;
      if (fault) refused(refusedCall(request), fault);
      if (translated.code === Code.Internal) {
        log.error({ err: fault?.cause ?? error, method: request.method.name }, "rpc failed");
      }
      return translated;
    };
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: catching(response.message, translate) };
    } catch (error) {
      throw translate(error);
    }
  };

/** Translates errors that the source throws, but not errors of its consumer; a `for await` loop would catch both. */
async function* catching<T>(source: AsyncIterable<T>, translate: (error: unknown) => unknown): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]();
  let finished = false;
  try {
    for (;;) {
      const step = await iterator.next().catch((error: unknown) => {
        finished = true;
        throw translate(error);
      });
      if (step.done === true) {
        finished = true;
        return;
      }
      yield step.value;
    }
  } finally {
    if (!finished) await iterator.return?.();
  }
}
