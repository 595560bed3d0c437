/** A crowd of clients in a separate process. Reports to its parent how many of them have an answer. */
import { connect } from "node:net";

export interface Crowd {
  readonly port: number;
  readonly clients: number;
  /** The whole request of each client; they take turns. */
  readonly requests: readonly string[];
  /** Bytes a second read by each client; 0: it reads all, and sends another request after each answer. */
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

/** Reads answers by their content-length, one after another. */
function repeat(port: number, request: string): void {
  const socket = connect(port, "127.0.0.1", () => socket.write(request));
  let left: number | undefined;
  socket.on("data", (bytes) => {
    // Heads come in one piece: they are short, and written at once.
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
