/**
 * Answers turns that are refused because of overload. Nothing else is done for them, neither reading the body nor looking up the key nor logging,
 * since a refusal must cost little.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { keepAliveMs } from "@sluice/proto/lib/http1/server.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { drawRetryDelayMs } from "@sluice/proto/lib/load/pressure.js";
import { type FaultForm, faultBody, fieldLines, responseFaults, writeFault } from "./errors.ts";

/** Maximum unread body in bytes that Node skips to keep the connection; beyond it, a new connection is cheaper. */
export const maxSkippedBodyBytes = 65_536;

const overloaded = () =>
  new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.GATEWAY, retryAfterMs: drawRetryDelayMs() });
const body = faultBody(overloaded()).toString("latin1");
const fixedHeaders = {
  "content-type": "application/json; charset=utf-8",
  "content-length": body.length,
  "x-should-retry": "true",
};

function variableHeaders() {
  const retryAfterMs = Math.ceil(drawRetryDelayMs());
  return {
    "x-request-id": newId("req_"),
    "retry-after": String(Math.ceil(retryAfterMs / 1_000)),
    "retry-after-ms": retryAfterMs,
  };
}

/** Refuses a request whose head was parsed by Node. */
export function refuseOverload(
  request: IncomingMessage,
  response: ServerResponse,
  form: FaultForm = responseFaults,
): void {
  const length = Number(request.headers["content-length"] ?? Number.NaN);
  const stays = response.shouldKeepAlive && !response.hasHeader("connection");
  // A connection that will be closed needs the slower way, which reads the request to its end first.
  if (!(stays && length <= maxSkippedBodyBytes && form === responseFaults)) {
    return writeFault(response, overloaded(), { requestId: newId("req_") }, form);
  }
  // A 503 needs no Date header.
  response.sendDate = false;
  response.writeHead(503, { ...fixedHeaders, ...variableHeaders() });
  response.end(body);
}

const beginningOf = (connection: Readonly<Record<string, string>>) =>
  `HTTP/1.1 503 Service Unavailable\r\n${fieldLines({ ...fixedHeaders, ...connection })}`;
const beginning = beginningOf({ connection: "keep-alive", "keep-alive": `timeout=${keepAliveMs / 1_000}` });
const closing = beginningOf({ connection: "close" });

/** The refusal as text, for direct writing to a socket. */
export const refusalText = (): string => `${beginning}${fieldLines(variableHeaders())}\r\n${body}`;

/** The refusal as text for direct writing to a socket, for a connection that is closed afterwards. */
export const closingRefusalText = (): string => `${closing}${fieldLines(variableHeaders())}\r\n${body}`;
