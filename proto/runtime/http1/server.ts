/** The listening socket of an HTTP/1 server with its time limits, and its end. */
import type { Server, ServerResponse } from "node:http";
import { type AddressInfo, Server as NetServer, type Socket } from "node:net";
import { firstOwed } from "./owed.ts";

/** Longer than the 60 s of common proxies: the side that closes an idle connection first must be the proxy, or requests are lost. */
export const keepAliveMs = 65_000;
const headersMs = 10_000;
/** Headers and body together. */
const requestMs = 40_000;

/** For `createServer`: how often Node looks for requests whose headers or bodies take too long. */
export const connectionsCheckingInterval = 5_000;

/**
 * Connections that wait for a process which is busy, or is given no time: some of those that find no place are reset by the kernel although their
 * client has sent its request. With 511, Node's default, that began after five seconds of 100 connections each. Linux takes no more than
 * net.core.somaxconn, which is as many.
 */
const backlog = 4_096;

/** How long a client may take to send its next request on a connection that is about to end. */
const lingerMs = 500;

/** Longest time for the first bytes of a client, where others wait for its place. */
const idleMs = 1_000;
/** Connections that are looked at for one to end: a flood of new ones must not cost more. */
const maxLooks = 256;
/** Refused connections that are kept open until their clients have read why. */
const maxLingering = 16;

export interface ListenOptions {
  /** Address to listen on; all addresses of the machine when undefined. */
  readonly host?: string | undefined;
  /** Connections that are open at once; no bound when absent. */
  readonly maxConnections?: number;
  /** The whole answer, head and body, for a client whose connection is one too many; it is closed without one when absent. */
  readonly refusal?: () => string;
}

const connections = new WeakMap<Server, Map<Socket, number>>();

/** @returns the port that was bound */
export function listen(server: Server, port: number, options: ListenOptions = {}): Promise<number> {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = headersMs;
  server.requestTimeout = requestMs;
  /** When each was opened. */
  const open = new Map<Socket, number>();
  connections.set(server, open);
  server.on("connection", (socket: Socket) => {
    open.set(socket, performance.now());
    socket.once("close", () => open.delete(socket));
    if (open.size > (options.maxConnections ?? Number.POSITIVE_INFINITY)) makeRoom(open, socket, options);
  });
  server.on("error", () => {}); // a connection that could not be accepted: its client sees that
  // After keepAliveTimeout; without a listener Node destroys it at once.
  server.on("timeout", (socket) => endSilent(new Map([[socket, socket.bytesRead]])));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: options.host, backlog }, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** The oldest connection that nobody uses ends, or where all are in use the newest one. */
function makeRoom(open: ReadonlyMap<Socket, number>, newest: Socket, options: ListenOptions): void {
  const { maxConnections = 0, refusal } = options;
  const now = performance.now();
  let looks = 0;
  for (const [socket, openedAt] of open) {
    if (++looks > maxLooks) break;
    if (socket === newest || !isUnused(socket, now - openedAt)) continue;
    // A busy process may not have read yet what came on a connection that seems unused.
    return socket.bytesWritten > 0 ? void socket.destroy() : refuse(socket, refusal, false);
  }
  refuse(newest, refusal, open.size <= maxConnections + maxLingering);
}

/** @param lingers whether the connection stays until the request has come: to close it before would reset it, and some clients miss the answer then */
function refuse(socket: Socket, refusal: ListenOptions["refusal"], lingers: boolean): void {
  if (!refusal) return void socket.destroy();
  ignoreInput(socket);
  socket.on("error", () => {}).end(refusal());
  if (!lingers) return void socket.destroy();
  socket.once("data", () => socket.destroySoon());
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** Takes what comes on a connection away from Node's parser, and drops it. */
export function ignoreInput(socket: Socket): void {
  const others = socket.listeners("data") as ((bytes: Buffer) => void)[];
  socket.on("data", () => {});
  for (const listener of others) socket.off("data", listener);
}

/** All of its requests are answered, or it has sent none although it had the time. */
const isUnused = (socket: Socket, ageMs: number): boolean =>
  firstOwed(socket) === undefined && (socket.bytesWritten > 0 || (socket.bytesRead === 0 && ageMs > idleMs));

/**
 * Settles when the last answer is out. A connection stays for a moment after an answer, because its client may be sending the next request
 * already: that one is answered, too, and says that the connection ends.
 */
export function close(server: Server): Promise<void> {
  server.keepAliveTimeout = lingerMs;
  server.prependListener("request", (_request, response: ServerResponse) => {
    response.setHeader("connection", "close");
  });
  setTimeout(endSilent, lingerMs, silentOf(server));
  // That of an HTTP server destroys what is idle at once.
  return new Promise((resolve) => void NetServer.prototype.close.call(server, () => resolve()));
}

/** Connections on which no answer is owed, and how much has come on them. */
const silentOf = (server: Server): ReadonlyMap<Socket, number> =>
  new Map(
    [...(connections.get(server)?.keys() ?? [])]
      .filter((socket) => firstOwed(socket) === undefined)
      .map((socket) => [socket, socket.bytesRead]),
  );

/** What has come is read first: of a process that was held up the timers run before it looks at its sockets. */
function endSilent(silent: ReadonlyMap<Socket, number>): void {
  setImmediate(() => {
    for (const [socket, bytesRead] of silent) if (socket.bytesRead === bytesRead) socket.destroy();
  });
}
