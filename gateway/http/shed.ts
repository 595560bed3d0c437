/** The answer to a turn that is refused for too much work: before anything is read, looked up or logged, because that is the point of it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { newId } from "@sluice/proto/runtime/id.js";
import { refusedMs } from "@sluice/proto/runtime/pressure.js";
import { faultBody, writeFault } from "./errors.ts";

/** Node reads over a body that nobody wants, and the connection stays; of a longer one it is cheaper to be rid. */
const passedOverBytes = 65_536;

const overloaded = () =>
  new Fault(FaultReason.UNAVAILABLE, "", { origin: FaultOrigin.GATEWAY, retryAfterMs: refusedMs() });
const body = faultBody(overloaded());

export function shed(request: IncomingMessage, response: ServerResponse): void {
  const length = Number(request.headers["content-length"] ?? Number.NaN);
  if (!(length <= passedOverBytes)) return writeFault(response, overloaded(), { requestId: newId("req_") });
  const retryAfterMs = Math.ceil(refusedMs());
  response.writeHead(503, {
    "content-type": "application/json; charset=utf-8",
    "content-length": body.length,
    "x-request-id": newId("req_"),
    "x-should-retry": "true",
    "retry-after": String(Math.ceil(retryAfterMs / 1_000)),
    "retry-after-ms": retryAfterMs,
  });
  response.end(body);
}
