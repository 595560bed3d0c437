/** Ids for finding a request in the logs. */
import type { IncomingMessage } from "node:http";
import { newId } from "@sluice/proto/lib/ids/id.js";

const clientForm = /^[\w-]{1,64}$/;

export interface RequestIds {
  /** Unique id from the gateway, in every log line. */
  readonly requestId: string;
  /** The client's X-Request-Id. It never replaces the gateway's id, because a client can repeat it. */
  readonly clientRequestId: string | undefined;
}

export function requestIds(request: IncomingMessage): RequestIds {
  const presented = request.headers["x-request-id"];
  const wellFormed = typeof presented === "string" && clientForm.test(presented);
  return { requestId: newId("req_"), clientRequestId: wellFormed ? presented : undefined };
}
