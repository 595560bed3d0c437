/** Names by which a request can be found again. */
import type { IncomingMessage } from "node:http";
import { newId } from "@sluice/proto/runtime/id.js";

const clientForm = /^[\w-]{1,64}$/;

export interface RequestIds {
  /** Ours: unique, and in every log line. */
  readonly requestId: string;
  /** The client's X-Request-Id, kept beside ours and never in its place: a client can repeat it. */
  readonly clientRequestId: string | undefined;
}

export function requestIds(request: IncomingMessage): RequestIds {
  const presented = request.headers["x-request-id"];
  const wellFormed = typeof presented === "string" && clientForm.test(presented);
  return { requestId: newId("req_"), clientRequestId: wellFormed ? presented : undefined };
}
