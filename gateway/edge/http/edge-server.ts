/** The HTTP server of the gateway. Errors that Node would answer itself get an answer in the contract's form. */
import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { Duplex } from "node:stream";
import { hasOtherVersion, hasUnknownFraming } from "@sluice/proto/lib/http1/framing.js";
import { firstPendingResponse, addPendingResponse } from "@sluice/proto/lib/http1/pending-responses.js";
import { connectionsCheckingInterval, ignoreInput } from "@sluice/proto/lib/http1/server.js";
import { deferContinue } from "./body.ts";
import { noteParsed } from "./early-refusal.ts";
import { answerClientError } from "./errors.ts";

/** Parser error code for an unsupported transfer coding. */
const unknownFraming: NodeJS.ErrnoException = Object.assign(new Error("unknown framing"), {
  code: "HPE_INVALID_TRANSFER_ENCODING",
});

/** Parser error code for an unsupported HTTP version. */
const otherVersion: NodeJS.ErrnoException = Object.assign(new Error("other version"), { code: "HPE_INVALID_VERSION" });

export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => void;

export function createEdgeServer(handle: RequestHandler): Server {
  const serve: RequestHandler = (request, response) => {
    const { socket } = request;
    // Bytes after a request whose end is doubtful must not be read as a further request.
    if (socket.writableEnded) return;
    const malformation = hasOtherVersion(request)
      ? otherVersion
      : hasUnknownFraming(request)
        ? unknownFraming
        : undefined;
    if (malformation) {
      ignoreInput(socket);
      return answerMalformed(malformation, socket);
    }
    addPendingResponse(socket, response);
    noteParsed(request);
    handle(request, response);
  };
  // For a missing Host header Node would answer without a body; http/auth.ts answers with one.
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval }, serve);
  // "100 Continue" is sent only when a handler reads the body, so a request with a bad key is refused before its body is sent.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, () => response.writeContinue());
    serve(request, response);
  });
  // Other expectations are ignored, as by most servers; Node would answer 417, a status that the contract does not have.
  server.on("checkExpectation", serve);
  server.on("clientError", answerMalformed);
  return server;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const response = firstPendingResponse(socket);
  const begun = response?.headersSent === true && !response.writableFinished;
  // An answer written into one that has begun would be read as part of it.
  if (begun) socket.destroy();
  else answerClientError(error, socket);
}
