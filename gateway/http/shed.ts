/** The answer to a turn that is refused for too much work: before anything is read, looked up or logged, because that is the point of it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { keepAliveMs } from "@sluice/proto/runtime/http1/server.js";
import { newId } from "@sluice/proto/runtime/id.js";
import { refusedMs } from "@sluice/proto/runtime/pressure.js";
import { faultBody, fieldLines, writeFault } from "./errors.ts";

/** Node reads over a body that nobody wants, and the connection stays; of a longer one it is cheaper to be rid. */
export const passedOverBytes = 65_536;

const overloaded = () =>
  new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.GATEWAY, retryAfterMs: refusedMs() });
const body = faultBody(overloaded()).toString("latin1");
const always = {
  "content-type": "application/json; charset=utf-8",
  "content-length": body.length,
  "x-should-retry": "true",
};

function everyTime() {
  const retryAfterMs = Math.ceil(refusedMs());
  return {
    "x-request-id": newId("req_"),
    "retry-after": String(Math.ceil(retryAfterMs / 1_000)),
    "retry-after-ms": retryAfterMs,
  };
}

/** Of a request that Node's parser has read. */
export function shed(request: IncomingMessage, response: ServerResponse): void {
  const length = Number(request.headers["content-length"] ?? Number.NaN);
  const stays = response.shouldKeepAlive && !response.hasHeader("connection");
  // A connection that ends is read to the end of its request first, as any refusal is.
  if (!(stays && length <= passedOverBytes)) return writeFault(response, overloaded(), { requestId: newId("req_") });
  // Without a date, of which a 503 has no need.
  response.sendDate = false;
  response.writeHead(503, { ...always, ...everyTime() });
  response.end(body);
}

const beginningOf = (connection: Readonly<Record<string, string>>) =>
  `HTTP/1.1 503 Service Unavailable\r\n${fieldLines({ ...always, ...connection })}`;
const beginning = beginningOf({ connection: "keep-alive", "keep-alive": `timeout=${keepAliveMs / 1_000}` });
const closing = beginningOf({ connection: "close" });

/** The same, for a socket that is written to by hand. */
export const shedText = (): string => `${beginning}${fieldLines(everyTime())}\r\n${body}`;

/** The same, for a connection that ends with it. */
export const closingText = (): string => `${closing}${fieldLines(everyTime())}\r\n${body}`;
