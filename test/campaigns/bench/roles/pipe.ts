/** Role: the reference, a plain node:http proxy with keep-alive connections on both sides. */
import { Agent, type ServerResponse, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "./commands.ts";

const agent = new Agent({ keepAlive: true });
let upstreamPort = 0;

function refuse(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(502).end();
}

const server = createServer((incoming, response) => {
  const { method, url, headers } = incoming;
  const upstream = request(
    { host: "127.0.0.1", port: upstreamPort, agent, method, path: url, headers: { ...headers, host: "upstream" } },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => refuse(response));
    },
  );
  upstream.on("error", () => refuse(response));
  response.on("close", () => {
    if (!response.writableFinished) upstream.destroy();
  });
  incoming.pipe(upstream);
});

const commands = {
  listen: (port: number) => {
    upstreamPort = port;
    return new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
    });
  },
};
export type PipeCommands = typeof commands;
serve(commands);
