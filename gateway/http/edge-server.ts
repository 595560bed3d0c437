/** The HTTP server of the edge: what Node would answer by itself is answered in the contract's form. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { Duplex } from "node:stream";
import { deferContinue } from "./body.ts";
import { answerClientError } from "./errors.ts";

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** How often Node looks for requests whose headers or bodies take too long. */
const connectionsCheckingInterval = 5_000;

/**
 * The answers that are owed on a connection, in order: more than one when its client does not wait for the first. On the socket itself and
 * only that long: a WeakMap kept every finished answer alive through young collections, which cost a tenth of the gateway's time.
 */
const owed = Symbol("owed");
type EdgeSocket = Duplex & { [owed]?: ServerResponse[] };

function owedOn(socket: EdgeSocket): ServerResponse[] {
  const responses: ServerResponse[] = [];
  // Node closes the answer that is under way when its client leaves, and says nothing to those that wait behind it.
  socket.once("close", () => {
    for (const response of responses.splice(0)) if (!response.socket) response.destroy().emit("close");
  });
  return responses;
}

export function createEdgeServer(handle: Handle): Server {
  const serve: Handle = (request, response) => {
    const socket: EdgeSocket = request.socket;
    const responses = (socket[owed] ??= owedOn(socket));
    responses.push(response);
    response.on("close", () => {
      if (responses[0] === response) responses.shift();
    });
    handle(request, response);
  };
  // Node answers a missing Host header without a body; http/auth.ts refuses it with one.
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval }, serve);
  // "100 Continue" is sent when somebody wants the body: a bad key is refused before.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, () => response.writeContinue());
    serve(request, response);
  });
  // Other expectations are ignored, as most servers do; Node would answer 417, which the contract does not know.
  server.on("checkExpectation", serve);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = (socket as EdgeSocket)[owed]?.[0];
    const begun = response?.headersSent === true && !response.writableFinished;
    // In the middle of an answer a second one would be read as part of the first.
    if (begun) socket.destroy();
    else answerClientError(error, socket);
  });
  return server;
}
