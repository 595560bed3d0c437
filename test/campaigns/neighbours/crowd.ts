/** A crowd of clients in a process of its own. It reports to its parent how many of them have an answer. */
import { connect } from "node:net";

export interface Crowd {
  readonly port: number;
  readonly clients: number;
  /** Complete requests, which the clients use in turn. */
  readonly requests: readonly string[];
  /** Bytes per second that each client reads; with 0 it reads everything, and sends another request after each answer. */
  readonly bytesPerSecond: number;
}

let answered = 0;

function slow(port: number, request: string, bytesPerSecond: number): void {
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  socket.once("data", (bytes) => {
    if (bytes.toString("latin1", 9, 12) === "200") answered++;
  });
  socket.on("data", (bytes) => {
    socket.pause();
    setTimeout(() => socket.resume(), (1_000 * bytes.length) / bytesPerSecond);
  });
  socket.on("error", () => {});
}

/** Reads answers by their content-length, and sends the request again after each. */
function repeat(port: number, request: string): void {
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  let left: number | undefined;
  socket.on("data", (bytes) => {
    // A head arrives in one piece, since it is short and written at once.
    if (left === undefined) {
      const [head = ""] = bytes.toString("latin1").split("\r\n\r\n", 1);
      left = head.length + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    }
    left -= bytes.length;
    if (left > 0) return;
    left = undefined;
    answered++;
    socket.write(request);
  });
  socket.on("error", () => {});
  socket.on("close", () => setTimeout(() => repeat(port, request), 100));
}

process.on("message", ({ port, clients, requests, bytesPerSecond }: Crowd) => {
  for (let client = 0; client < clients; client++) {
    const request = requests[client % requests.length] as string;
    if (bytesPerSecond > 0) slow(port, request, bytesPerSecond);
    else repeat(port, request);
  }
  setInterval(() => process.send?.(answered), 100);
});
process.on("disconnect", () => process.exit());
