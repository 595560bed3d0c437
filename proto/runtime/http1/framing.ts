/** Refuses requests that two servers could read differently: whose body could end in two places (request smuggling), or of another version of HTTP. */
import { type IncomingMessage, STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * True for transfer codings that Sluice does not decode, and for any coding in HTTP/1.0. Node reads `gzip, chunked` as chunked and passes
 * the compressed bytes on. Its parser refuses two lengths, and a length beside chunks.
 */
export function hasUnknownFraming({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding !== undefined && (coding.trim().toLowerCase() !== "chunked" || httpVersion === "1.0");
}

export const versionRefusal = {
  status: 505,
  message: "HTTP version not supported: this port speaks HTTP/1.1",
} as const;

/** True for a version that Node's parser reads in the form of HTTP/1, and would answer: 0.9 and 2.0. */
export const hasOtherVersion = ({ httpVersion }: IncomingMessage): boolean =>
  httpVersion !== "1.1" && httpVersion !== "1.0";

/** Whether Node's parser has refused the version. It has the same code for a line feed alone after it. */
export const isVersionError = ({ code, message }: NodeJS.ErrnoException): boolean =>
  code === "HPE_INVALID_VERSION" && !message.includes("CRLF");

/**
 * For servers whose answers are no JSON.
 * @returns whether the request was refused, because it cannot be read safely
 */
export function refusesUnsafe(request: IncomingMessage, response: ServerResponse): boolean {
  const isOther = hasOtherVersion(request);
  if (!isOther && !hasUnknownFraming(request)) return false;
  response.writeHead(isOther ? versionRefusal.status : 400, { connection: "close" });
  response.end(isOther ? `${versionRefusal.message}\n` : "");
  return true;
}

/** Listener of `clientError` for servers whose answers are no JSON: it answers as Node does, and names the version where that is the cause. */
export function answerParseError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, text] = isVersionError(error) ? [versionRefusal.status, `${versionRefusal.message}\n`] : [400, ""];
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: ${text.length}\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
}
