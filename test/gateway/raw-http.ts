/** HTTP as an attacker writes it: bytes on a socket, and all answers until the other side closes. */
import { once } from "node:events";
import { type Socket, connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** All received bytes, including those after the first answer. */
  readonly text: string;
}

/** Sends the bytes, and keeps this side open until the server closes. */
export async function exchange(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(bytes);
  return parseAnswer(await readAll(socket));
}

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(socket, "close");
  return Buffer.concat(chunks).toString("latin1");
}

export function parseAnswer(text: string): RawAnswer {
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const [name = "", ...value] = line.split(": ");
      return [name.toLowerCase(), value.join(": ")];
    }),
  );
  return { status: Number(statusLine.split(" ")[1]), headers, body: rest.join("\r\n\r\n"), text };
}
