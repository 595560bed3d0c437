/** Refuses requests that two servers could read differently: ambiguous ends of the body (request smuggling), and other versions of HTTP. */
import { type IncomingMessage, STATUS_CODES, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/**
 * True for transfer codings unknown to Sluice, and for any coding in HTTP/1.0. Node reads `gzip, chunked` as chunked and passes the compressed bytes on.
 * Its parser refuses two lengths, and a length together with chunks.
 */
export function hasUnknownFraming({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding !== undefined && (coding.trim().toLowerCase() !== "chunked" || httpVersion === "1.0");
}

export const versionRefusal = {
  status: 505,
  message: "HTTP version not supported: this port speaks HTTP/1.1",
} as const;

/** True for the versions 0.9 and 2.0, which Node's parser reads in the form of HTTP/1 and would answer. */
export const hasOtherVersion = ({ httpVersion }: IncomingMessage): boolean =>
  httpVersion !== "1.1" && httpVersion !== "1.0";

/** Whether Node's parser refused the version. It reports the same code for a bare line feed after the version. */
export const isVersionError = ({ code, message }: NodeJS.ErrnoException): boolean =>
  code === "HPE_INVALID_VERSION" && !message.includes("CRLF");

/**
 * For servers without JSON answers.
 * @returns whether the request was refused as ambiguous
 */
export function refuseAmbiguous(request: IncomingMessage, response: ServerResponse): boolean {
  const isOther = hasOtherVersion(request);
  if (!isOther && !hasUnknownFraming(request)) return false;
  response.writeHead(isOther ? versionRefusal.status : 400, { connection: "close" });
  response.end(isOther ? `${versionRefusal.message}\n` : "");
  return true;
}

/** `clientError` listener for servers without JSON answers: it answers as Node does, and names the version when this is the cause. */
export function answerParseError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  const [status, text] = isVersionError(error) ? [versionRefusal.status, `${versionRefusal.message}\n`] : [400, ""];
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-length: ${text.length}\r\n\r\n`;
  socket.end(head + text, () => socket.destroy());
}
