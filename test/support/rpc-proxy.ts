/** A proxy between two gRPC processes that delays the answers of chosen methods, and forwards everything else. */
import { once } from "node:events";
import {
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  connect,
  createServer,
} from "node:http2";
import type { AddressInfo } from "node:net";

export interface RpcProxy {
  readonly port: number;
  /** Holds the answers of a method back until the returned function is called. */
  hold(method: string): () => void;
  /** Resolves when the next answer of a delayed method has arrived at the proxy. */
  held(): Promise<void>;
  stop(): Promise<void>;
}

/** @param target port on 127.0.0.1 */
export async function startRpcProxy(target: number): Promise<RpcProxy> {
  const gates = new Map<string, Promise<void>>();
  const sessions = new Set<ServerHttp2Session>();
  let arrived: (() => void)[] = [];

  const pass = async (path: string): Promise<void> => {
    const gate = gates.get(path.slice(path.lastIndexOf("/") + 1));
    if (!gate) return;
    for (const settle of arrived.splice(0)) settle();
    await gate;
  };
  const server = createServer();
  server.on("session", (session) => {
    const upstream = connect(`http://127.0.0.1:${target}`);
    sessions.add(session);
    // Either side may leave at any time; the other connection is then closed.
    upstream.on("error", () => {});
    session.on("error", () => {});
    upstream.on("close", () => session.destroy());
    session.on("close", () => {
      sessions.delete(session);
      upstream.destroy();
    });
    session.on(
      "stream",
      (stream, headers) => void forward(stream, headers, upstream, pass).catch(() => stream.close()),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    port: (server.address() as AddressInfo).port,
    hold(method) {
      let release = () => {};
      gates.set(method, new Promise((resolve) => (release = resolve)));
      return () => {
        gates.delete(method);
        release();
      };
    },
    held: () => new Promise((resolve) => arrived.push(resolve)),
    async stop() {
      arrived = [];
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

async function forward(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  upstream: ClientHttp2Session,
  pass: (path: string) => Promise<void>,
): Promise<void> {
  const path = headers[":path"] ?? "";
  const call = upstream.request(headers);
  let trailers: IncomingHttpHeaders = {};
  call.on("trailers", (received) => (trailers = received));
  stream.on("error", () => call.close());
  stream.on("close", () => call.close());
  stream.pipe(call);
  const [answered] = (await once(call, "response")) as [IncomingHttpHeaders & IncomingHttpStatusHeader];
  await pass(path);
  stream.respond(answered, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  for await (const bytes of call) {
    await pass(path);
    stream.write(bytes);
  }
  stream.end();
}
