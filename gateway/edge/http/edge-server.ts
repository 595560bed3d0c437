/** The HTTP server of the gateway. Errors answered by Node itself are answered in the contract's form instead. */
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
    // Bytes after a request with a doubtful end are not read as a request.
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
  // Node would answer a missing Host header without a body; http/auth.ts refuses it with one.
  const server = createServer({ requireHostHeader: false, connectionsCheckingInterval }, serve);
  // "100 Continue" is sent when a handler reads the body: a bad key is refused before the client sends it.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    deferContinue(request, () => response.writeContinue());
    serve(request, response);
  });
  // Other expectations are ignored, as by most servers; Node would answer 417, which is not in the contract.
  server.on("checkExpectation", serve);
  server.on("clientError", answerMalformed);
  return server;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  const response = firstPendingResponse(socket);
  const begun = response?.headersSent === true && !response.writableFinished;
  // A second answer within the first would be read as part of it.
  if (begun) socket.destroy();
  else answerClientError(error, socket);
}
