/** Role: refuses every turn, in one of several ways. */
import { type Server as HttpServer, createServer as createHttpServer } from "node:http";
import { type AddressInfo, type Server, createServer } from "node:net";
import { refuseEarly } from "@sluice/gateway/edge/http/early-refusal.js";
import { createEdgeServer } from "@sluice/gateway/edge/http/edge-server.js";
import { refuseOverload, refusalText } from "@sluice/gateway/edge/http/shed.js";
import { serve } from "./commands.ts";

const door = { overloaded: true, refuses: () => true };

/** Ways to refuse. A raw socket with a fixed answer is the minimum cost in Node. */
const ways = {
  "a bare socket": (): Server =>
    createServer({ noDelay: true }, (socket) => {
      const text = refusalText();
      socket.on("data", () => socket.write(text, "latin1")).on("error", () => {});
    }),
  "bare node:http": (): HttpServer => createHttpServer((_, response) => response.writeHead(503).end()),
  parsed: () => createEdgeServer(refuseOverload),
  unparsed: () =>
    createEdgeServer((request, response) => {
      refuseEarly(request, door);
      refuseOverload(request, response);
    }),
} as const;

export type RefusalMethod = keyof typeof ways;

const commands = {
  listen: (way: RefusalMethod) => {
    // The server keeps idle connections open, since clients are measured in turn and wait longer than Node's default timeout.
    const server = Object.assign(ways[way](), { keepAliveTimeout: 0 });
    return new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
    });
  },
};
export type RefuserCommands = typeof commands;
serve(commands);
