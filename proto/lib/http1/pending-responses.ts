/** Pending responses of an HTTP/1 connection, in order. There are several when the client pipelines its requests. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Stored on the socket itself: a WeakMap kept every finished response alive through young collections, a tenth of a gateway's time. */
const pendingResponses = Symbol("owed");
/** Present while a connection upgraded to another protocol has work under way. */
const inUse = Symbol("in use");
type TrackedSocket = Duplex & { [pendingResponses]?: ServerResponse[]; [inUse]?: boolean };

/** Marks whether a connection upgraded to another protocol has work under way. */
export function setInUse(socket: Duplex, isInUse: boolean): void {
  (socket as TrackedSocket)[inUse] = isInUse;
}

/** Whether a client waits for a response or message on the connection. */
export const isInUse = (socket: Duplex): boolean =>
  firstPendingResponse(socket) !== undefined || (socket as TrackedSocket)[inUse] === true;

/** Adds a response. When its client leaves before its turn, it closes like any other. */
export function addPendingResponse(socket: Duplex, response: ServerResponse): void {
  const responses = ((socket as TrackedSocket)[pendingResponses] ??= trackResponses(socket));
  responses.push(response);
  response.on("close", () => {
    if (responses[0] === response) responses.shift();
  });
}

/** The next response to send. */
export const firstPendingResponse = (socket: Duplex): ServerResponse | undefined =>
  (socket as TrackedSocket)[pendingResponses]?.[0];

function trackResponses(socket: Duplex): ServerResponse[] {
  const responses: ServerResponse[] = [];
  // When a client leaves, Node closes the response under way without notifying the responses queued behind it.
  socket.once("close", () => {
    for (const response of responses.splice(0)) if (!response.socket) response.destroy().emit("close");
  });
  return responses;
}
