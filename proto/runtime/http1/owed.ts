/** The answers that are owed on an HTTP/1 connection, in order: more than one when its client does not wait for the first. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** On the socket itself and only that long: a WeakMap kept every finished answer alive through young collections, a tenth of a gateway's time. */
const owed = Symbol("owed");
type OwingSocket = Duplex & { [owed]?: ServerResponse[] };

/** Notes that an answer is owed. When its client leaves before its turn has come, it closes like any other. */
export function owe(socket: Duplex, response: ServerResponse): void {
  const responses = ((socket as OwingSocket)[owed] ??= owedOn(socket));
  responses.push(response);
  response.on("close", () => {
    if (responses[0] === response) responses.shift();
  });
}

/** The answer whose turn it is. */
export const firstOwed = (socket: Duplex): ServerResponse | undefined => (socket as OwingSocket)[owed]?.[0];

function owedOn(socket: Duplex): ServerResponse[] {
  const responses: ServerResponse[] = [];
  // Node closes the answer that is under way when its client leaves, and says nothing to those that wait behind it.
  socket.once("close", () => {
    for (const response of responses.splice(0)) if (!response.socket) response.destroy().emit("close");
  });
  return responses;
}
