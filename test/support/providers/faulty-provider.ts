/**
 * A provider on raw sockets with every possible fault, chosen by the path of the request.
 *
 * const provider = await startFaultyProvider(faults);
 * ... base_url: `${provider.url}/${nameOfTheFault}/${anything}`
 * provider.requests("anything"), provider.sockets("anything")
 */
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";

/** A failure on a socket, after the whole request has arrived. @param seen resolves when the client has read the first bytes */
export type SocketFailure = (socket: Socket, seen: Promise<void>) => void;

export interface FaultyProvider {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** Number of complete requests whose path contains this part. */
  requests(part: string): number;
  /** Reports that the client has read something of the answer to the request whose path contains this part. */
  seen(part: string): void;
  /** Number of open sockets with such a request. */
  sockets(part: string): number;
  stop(): Promise<void>;
}

export async function startFaultyProvider(acts: Readonly<Record<string, SocketFailure>>): Promise<FaultyProvider> {
  const open = new Map<Socket, string>();
  const paths: string[] = [];
  const waiting = new Map<string, () => void>();
  const server = createServer((socket) => {
    open.set(socket, "");
    let text = "";
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      const path = parseCompletePath(text);
      if (path === undefined) return;
      text = "";
      open.set(socket, path);
      paths.push(path);
      const seen = new Promise<void>((resolve) => waiting.set(path, resolve));
      acts[path.split("/")[1] ?? ""]?.(socket, seen);
    });
    // Sluice may close the connection at any time.
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const has = (part: string) => (path: string) => path.split("/").includes(part);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: (part) => paths.filter(has(part)).length,
    seen(part) {
      for (const [path, resolve] of waiting) if (has(part)(path)) resolve();
    },
    sockets: (part) => [...open.values()].filter(has(part)).length,
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open.keys()) socket.destroy();
      await closed;
    },
  };
}

/** Path of a request; undefined while the request is incomplete. */
export function parseCompletePath(text: string): string | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const length = Number(/^content-length: (\d+)/im.exec(text.slice(0, end))?.[1] ?? 0);
  return text.length < end + 4 + length ? undefined : text.split(" ", 2)[1];
}

/** An answer with its length, which keeps the connection open. */
export const httpAnswer = (status: number, body: string, headers = ""): string =>
  `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

export const streamHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/** A chunk of a body of unknown length. */
export function httpChunk(data: string | Buffer): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
}

/** The end of a chunked body. */
export const lastChunk = "0\r\n\r\n";

/** Starts a server that breaks the TLS handshake, so each failure comes before any byte of a request is sent. */
export async function startWithoutTls(act: (socket: Socket) => void): Promise<{ url: string; stop(): Promise<void> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket)).on("error", () => {});
    socket.once("data", () => act(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
