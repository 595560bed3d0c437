/** The HTTP server of the edge: what Node would answer by itself is answered in the contract's form. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { Duplex } from "node:stream";
import { hasUnknownFraming } from "@sluice/proto/runtime/http1/framing.js";
import { firstOwed, owe } from "@sluice/proto/runtime/http1/owed.js";
import { connectionsCheckingInterval, ignoreInput } from "@sluice/proto/runtime/http1/server.js";
import { deferContinue } from "./body.ts";
import { parsed } from "./early-refusal.ts";
import { answerClientError } from "./errors.ts";

/** Named as Node's parser names the codings that it refuses itself. */
const unknownFraming: NodeJS.ErrnoException = Object.assign(new Error("unknown framing"), {
  code: "HPE_INVALID_TRANSFER_ENCODING",
});

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

export function createEdgeServer(handle: Handle): Server {
  const serve: Handle = (request, response) => {
    const { socket } = request;
    // Behind a request whose end is doubtful nothing is a request.
    if (socket.writableEnded) return;
    if (hasUnknownFraming(request)) {
      ignoreInput(socket);
      return answerMalformed(unknownFraming, socket);
    }
    owe(socket, response);
    parsed(request);
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
  server.on("clientError", answerMalformed);
  return server;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const response = firstOwed(socket);
  const begun = response?.headersSent === true && !response.writableFinished;
  // In the middle of an answer a second one would be read as part of the first.
  if (begun) socket.destroy();
  else answerClientError(error, socket);
}
