/** The listening socket of an HTTP/1 server with its time limits, and its end. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

/** Longer than the 60 s of common proxies: the side that closes an idle connection first must be the proxy, or requests are lost. */
const keepAliveMs = 65_000;
const headersMs = 10_000;
/** Headers and body together. */
const requestMs = 40_000;

/** For `createServer`: how often Node looks for requests whose headers or bodies take too long. */
export const connectionsCheckingInterval = 5_000;

/** @returns the port that was bound */
export function listen(server: Server, port: number): Promise<number> {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = headersMs;
  server.requestTimeout = requestMs;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, () => {
      server.off("error", reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Settles when the last answer is out. A connection whose answer had begun before is idle afterwards, and closed then. */
export function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    server.close(() => {
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
}
