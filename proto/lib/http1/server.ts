/** Listens and closes an HTTP/1 server, with time limits for its connections. */
import type { Server, ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { isInUse } from "./pending-responses.ts";

/** Longer than the 60 s of common proxies: the proxy must be the side to close an idle connection, or requests are lost. */
export const keepAliveMs = 65_000;
const headersMs = 10_000;
/** Limit for headers and body together. */
const requestMs = 40_000;

/** Interval of Node's check for requests with slow headers or bodies, for `createServer`. */
export const connectionsCheckingInterval = 5_000;

/**
 * Backlog of connections for a busy process. When it is full, the kernel resets connections whose client has already sent its request. With 511, Node's
 * default, resets began after five seconds of 100 connections each. Linux accepts no more than net.core.somaxconn, which has the same value.
 */
const backlog = 4_096;

/** Time for a client to send its next request before its connection ends. */
const lingerMs = 500;

/** Maximum wait for the first bytes of a client while others wait for a connection. */
const idleMs = 1_000;
/** Maximum number of connections searched for a closable one, so a flood of new connections costs no more. */
const maxLooks = 256;
/** Maximum number of refused connections kept open until their clients have read the reason. */
const maxLingering = 16;

export interface ListenOptions {
  /** Address to listen on; all addresses of the machine when undefined. */
  readonly host?: string | undefined;
  /** Maximum number of open connections; unlimited when absent. */
  readonly maxConnections?: number;
  /** The complete answer, head and body, for a client above the limit; its connection is closed without an answer when absent. */
  readonly refusal?: () => string;
}

const connections = new WeakMap<Server, Map<Socket, number>>();

/** @returns the bound port */
export function listen(server: Server, port: number, options: ListenOptions = {}): Promise<number> {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = headersMs;
  server.requestTimeout = requestMs;
  /** Opening time of each connection. */
  const open = new Map<Socket, number>();
  connections.set(server, open);
  server.on("connection", (socket: Socket) => {
    open.set(socket, performance.now());
    socket.once("close", () => open.delete(socket));
    if (open.size > (options.maxConnections ?? Number.POSITIVE_INFINITY)) makeRoom(open, socket, options);
  });
  server.on("error", () => {}); // a connection that could not be accepted: its client sees that
  // Fires after keepAliveTimeout; without a listener Node destroys the connection at once.
  server.on("timeout", (socket) => endSilent(new Map([[socket, socket.bytesRead]])));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: options.host, backlog }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Ends the oldest unused connection, or the newest one when all are in use. */
function makeRoom(open: ReadonlyMap<Socket, number>, newest: Socket, options: ListenOptions): void {
  const { maxConnections = 0, refusal } = options;
  const now = performance.now();
  let looks = 0;
  for (const [socket, openedAt] of open) {
    if (++looks > maxLooks) break;
    if (socket === newest || !isUnused(socket, now - openedAt)) continue;
    // A busy process may not have read yet what arrived on a seemingly unused connection.
    return socket.bytesWritten > 0 ? void socket.destroy() : refuse(socket, refusal, false);
  }
  refuse(newest, refusal, open.size <= maxConnections + maxLingering);
}

/**
 * @param lingers keeps the connection until the request has arrived: an earlier close would reset it, and some clients would miss the
 * answer
 */
function refuse(socket: Socket, refusal: ListenOptions["refusal"], lingers: boolean): void {
  if (!refusal) return void socket.destroy();
  ignoreInput(socket);
  socket.on("error", () => {}).end(refusal());
  if (!lingers) return void socket.destroy();
  socket.once("data", () => socket.destroySoon());
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** Takes the input of a connection away from Node's parser, and drops it. */
export function ignoreInput(socket: Socket): void {
  const others = socket.listeners("data") as ((bytes: Buffer) => void)[];
  socket.on("data", () => {});
  for (const listener of others) socket.off("data", listener);
}

/** True when all requests of the connection are answered, or none arrived in time. */
const isUnused = (socket: Socket, ageMs: number): boolean =>
  !isInUse(socket) && (socket.bytesWritten > 0 || (socket.bytesRead === 0 && ageMs > idleMs));

/**
 * Settles when the last answer is out. A connection stays open for a moment after an answer, because its client may already be sending the next request: it
 * is answered too, with `connection: close`.
 */
export function close(server: Server): Promise<void> {
  server.keepAliveTimeout = lingerMs;
  server.prependListener("request", (_request, response: ServerResponse) => {
    response.setHeader("connection", "close");
  });
  setTimeout(endSilent, lingerMs, silentOf(server));
  // The `close` of an HTTP server would destroy idle connections at once.
  return new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve()));
}

/** Connections without a pending response, and the bytes received on each. */
const silentOf = (server: Server): ReadonlyMap<Socket, number> =>
  new Map(
    [...(connections.get(server)?.keys() ?? [])]
      .filter((socket) => !isInUse(socket))
      .map((socket) => [socket, socket.bytesRead]),
  );

/** Reads pending input first: after a stall, timers run before the sockets are polled. */
function endSilent(silent: ReadonlyMap<Socket, number>): void {
  setImmediate(() => {
    for (const [socket, bytesRead] of silent) if (socket.bytesRead === bytesRead) socket.destroy();
  });
}
