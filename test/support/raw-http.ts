/** HTTP written by hand, for requests that no client library would send. */
import { once } from "node:events";
import { connect } from "node:net";

export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Sends bytes on a connection of their own, and reads until the server closes it or the body is complete.  @param bytes the complete request, headers
 * and body
 */
export async function sendRaw(port: number, bytes: string | Uint8Array): Promise<HttpAnswer> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  const chunks: Buffer[] = [];
  socket.on("error", () => {});
  const whole = new Promise<void>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (isWhole(Buffer.concat(chunks).toString())) resolve();
    });
    socket.on("close", () => resolve());
  });
  socket.write(bytes);
  await whole;
  socket.destroy();
  return parse(Buffer.concat(chunks).toString());
}

/** A request with a JSON body and its required headers. */
export function rawRequest(
  method: string,
  path: string,
  headers: readonly string[],
  body: string | Uint8Array,
): Buffer {
  const bytes = Buffer.from(body);
  const lines = [`${method} ${path} HTTP/1.1`, "Host: sluice", `Content-Length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), bytes]);
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(text.slice(0, end));
  return end >= 0 && length !== null && Buffer.byteLength(text.slice(end + 4)) >= Number(length[1]);
}

function parse(text: string): HttpAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: text.slice(end + 4),
  };
}
