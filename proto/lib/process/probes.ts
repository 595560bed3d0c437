/** Serves /livez, /readyz and /metrics on a separate HTTP/1 port, because a cleartext HTTP/2 port cannot serve them. */
import { type Server, createServer } from "node:http";
import { answerParseError, refuseAmbiguous } from "../http1/framing.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Registry } from "../metrics/metrics.ts";

export interface ProbesAddress {
  readonly port: number;
  /** Address on which probes are accepted; undefined for all addresses of the machine. */
  readonly host: string | undefined;
}

/** Maximum number of connections: few programs probe a process, and file descriptors are needed for its clients. */
const maxProbes = 32;

export async function serveProbes(address: ProbesAddress, lifecycle: Lifecycle, registry: Registry): Promise<Server> {
  const server = createServer((request, response) => {
    if (refuseAmbiguous(request, response)) return;
    if (request.url === "/livez") return void response.end("ok\n");
    if (request.url === "/readyz") {
      const { ready, reason } = lifecycle;
      response.statusCode = ready ? 200 : 503;
      return void response.end(`${ready ? "ready" : "not ready"}${reason === undefined ? "" : `: ${reason}`}\n`);
    }
    if (request.url !== "/metrics") {
      response.statusCode = 404;
      return void response.end();
    }
    registry.metrics().then(
      (text) => {
        response.setHeader("content-type", registry.contentType);
        response.end(text);
      },
      () => {
        response.statusCode = 500;
        response.end();
      },
    );
  });
  server.maxConnections = maxProbes;
  server.on("clientError", answerParseError);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(address, resolve);
  });
  server.on("error", () => {}); // a connection that could not be accepted is not an error of this process
  server.unref();
  return server;
}
