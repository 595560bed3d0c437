/** One HTTP/2 port, in clear text or among certificates, that serves gRPC, gRPC-Web and Connect, answers health, and drains without cutting a call. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Http2SecureServer, type Http2Server, type ServerHttp2Session, createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as Serving,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { maxConnections } from "../descriptors.ts";
import { Fault, FaultReason } from "../fault.ts";
import type { Lifecycle } from "../lifecycle.ts";
import type { Logger } from "../log.ts";
import { type ServerTls, createTlsServer } from "../tls/server.ts";
import type { Registry } from "../metrics.ts";
import { type MessageAdmission, admitting, strangerWindowBytes, trustedWindowBytes } from "./admission.ts";
import { Connections, type RequestHandler } from "./connections.ts";
import { type Http1Options, serveHttp1 } from "./http1.ts";
import type { Tracing } from "../tracing/span.ts";
import { tracedCalls } from "../tracing/rpc.ts";
import { measuredCalls } from "./measure.ts";
import { toConnectError } from "./status.ts";
import { escapeStatusLess } from "./status-text.ts";
import type { ServiceToken } from "./service-token.ts";
import { refusingUnknown } from "./strict.ts";
import { UnprovenConnections, connectionOf, maxConcurrentStreams, maxConcurrentStreamsUnproven } from "./unproven.ts";

/** RPC messages up to 48 MiB: a 32 MiB body with room for its envelope. */
export const maxMessageBytes = 48 * 1024 * 1024;

/** Node closes a connection after 1,000 resets in a burst, and with it every other caller's stream. Ignored before Node 22. */
const resetLimits = { streamResetBurst: 100_000, streamResetRate: 100_000 };
/** Connections on which anybody may call, until one shows that it may do more. */
const openOptions = {
  settings: { initialWindowSize: strangerWindowBytes, maxConcurrentStreams: maxConcurrentStreamsUnproven },
  ...resetLimits,
};
/** Connections that have shown a certificate. */
const certifiedOptions = { settings: { initialWindowSize: trustedWindowBytes, maxConcurrentStreams }, ...resetLimits };

/**
 * Nothing is compressed in either direction. Both ends are near each other: gzip, which grpc-js accepts unasked, took a third of the processor
 * time of a small turn. And a few kilobytes of a stranger would unpack to as much as a message may have.
 */
const uncompressed = { acceptCompression: [] };

/** Our own processes ask after each other every 10 s; a connection that is silent for longer and carries no call takes the place of another. */
const idleMs = 60_000;

/** The other descriptors are for providers, the database, and the port of HTTP/1.1. */
const clientShare = 0.5;

export interface RpcServerOptions {
  readonly port: number;
  /** All addresses of the machine when undefined. */
  readonly host?: string | undefined;
  readonly lifecycle: Lifecycle;
  readonly log: Logger;
  /** Full names of the services, for grpc.health.v1. */
  readonly serviceNames: readonly string[];
  readonly routes: (router: ConnectRouter) => void;
  /** Decides which callers may send messages; all of them when absent. */
  readonly admission?: MessageAdmission;
  /** Full names of the services of which a unary request is refused when it has a field that this build does not know. */
  readonly strict?: readonly string[];
  /** Calls are counted here. */
  readonly registry?: Registry;
  readonly tracing?: Tracing | undefined;
  /**
   * Paths of calls that their clients end when they are asked to drain. A connection is told to go away only when it carries none of
   * them any more: grpc-js drops a connection that was told so at its next keep-alive, with all calls that are still open on it.
   */
  readonly endedByClients?: readonly string[];
  /** Of a message that is read; 48 MiB when absent. */
  readonly readMaxBytes?: number;
  /** Connections on which a call shows it may open as many streams as they like. */
  readonly token?: ServiceToken | undefined;
  /** Clear text when absent. */
  readonly tls?: ServerTls | undefined;
  /** The same calls on a second port, always in clear text. A stream in both directions is refused there, with 505. */
  readonly http1?: Http1Options | undefined;
}

export interface RpcServer {
  readonly port: number;
  readonly http1Port: number | undefined;
  /** No new calls; settles when the last running one has ended. */
  drain(): Promise<void>;
}

export async function serveRpc(options: RpcServerOptions): Promise<RpcServer> {
  const connections = new Connections(options.endedByClients ?? []);
  const { tls, log, token, admission } = options;
  const unproven = new UnprovenConnections({ token, log });
  const serve = handlerOf(options, unproven);
  const handle = unproven.inTurn(connections.noting(admission ? admitting(admission, serve) : serve));
  const server = tls ? createTlsServer(tls, certifiedOptions, log, handle) : createServer(openOptions, handle);
  if (!tls) unproven.guard(server);
  server.on("session", (session: ServerHttp2Session) => {
    if (session.destroyed) return; // refused for its certificate
    connections.add(session);
    // A certificate is a proof.
    if (!tls) unproven.add(session);
    session.setLocalWindowSize(16 * 1024 * 1024);
    session.setTimeout(idleMs, () => connections.endIdle(session));
    session.on("error", (error) => log.debug({ err: error }, "connection failed"));
  });
  server.on("error", (error) => log.error({ err: error }, "rpc server failed"));
  server.maxConnections = maxConnections(clientShare);
  await listen(server, options);
  const http1 = options.http1 && (await serveHttp1(handle, options.http1));
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
  { routes, strict = [], log, tracing, registry, readMaxBytes = maxMessageBytes, ...options }: RpcServerOptions,
  unproven: UnprovenConnections,
): RequestHandler {
  const handle = connectNodeAdapter({
    routes: (router) => {
      router.service(Health, health(options));
      routes(router);
    },
    // First in the list is outermost: it sees the status that the caller sees.
    interceptors: [
      ...(tracing ? [tracedCalls(tracing)] : []),
      ...(registry ? [measuredCalls(registry)] : []),
      faults(log),
      unproven.interceptor,
      refusingUnknown(strict),
    ],
    contextValues: connectionOf,
    readMaxBytes,
    writeMaxBytes: maxMessageBytes,
    // In JSON they have no number by which `strict` could find them.
    jsonOptions: { ignoreUnknownFields: false },
    ...uncompressed,
    grpcWeb: true,
    connect: true,
    grpc: true,
  });
  return (request, response) => {
    escapeStatusLess(response);
    try {
      handle(request, response);
    } catch {
      // The adapter makes a URL of the host that the client names. Out of here its throw would end the process.
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

/** The one place where an error becomes a status: handlers throw Faults, everything else is masked and logged. */
const faults =
  (log: Logger): Interceptor =>
  (next) =>
  async (request) => {
    const translate = (error: unknown) => {
      // Over HTTP/1.1 it is not a ConnectError. Whoever has left is no failure of ours.
      if (request.signal.aborted && error === request.signal.reason) return ConnectError.from(error, Code.Canceled);
      const translated = toConnectError(error);
      const fault = error instanceof Fault ? error : undefined;
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

/** Translates what the producer throws, and leaves alone what the consumer throws: stepping by hand keeps the two apart. */
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

function health({ lifecycle, serviceNames }: Pick<RpcServerOptions, "lifecycle" | "serviceNames">) {
  const answer = (service: string, ready: boolean): HealthCheckResponse => {
    const known = service === "" || serviceNames.includes(service);
    const state = known ? (ready ? Serving.SERVING : Serving.NOT_SERVING) : Serving.SERVICE_UNKNOWN;
    return create(HealthCheckResponseSchema, { status: state });
  };
  return {
    check(request: { service: string }) {
      const response = answer(request.service, lifecycle.ready);
      if (response.status === Serving.SERVICE_UNKNOWN) throw new Fault(FaultReason.NOT_FOUND, "Unknown service");
      return response;
    },
    async *watch(request: { service: string }, context: { signal: AbortSignal }) {
      let wake = () => {};
      let changed = true;
      const stop = lifecycle.watch(() => {
        changed = true;
        wake();
      });
      context.signal.addEventListener("abort", () => wake());
      try {
        while (!context.signal.aborted) {
          if (changed) {
            changed = false;
            yield answer(request.service, lifecycle.ready);
            // A watcher must not hold up the drain.
            if (lifecycle.draining) return;
            continue;
          }
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        stop();
      }
    },
  };
}
