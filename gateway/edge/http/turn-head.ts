/** Recognizes the head of a turn in the form of nearly every client, without a parser. Heads in any other form are left to Node's parser. */
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { createChatCompletion } from "../../contract/operations/chat.ts";
import { createResponse } from "../../contract/operations/responses.ts";

export const responsesPath = `${basePath}${createResponse.path}`;
export const chatPath = `${basePath}${createChatCompletion.path}`;
/** Request lines of turns whose error answers have the form of /responses. */
const requestLines = [responsesPath, chatPath].map((path) => `POST ${path} HTTP/1.1\r\n`);
/** Maximum size of a head in bytes; longer heads are rare and left to Node's parser. */
const maxHeadBytes = 4_096;
const end = "\r\n\r\n";

/** Headers that are left to Node's parser: framing other than a single length, requests for an interim answer or an upgrade, and CORS. */
const uncommon = "content-length:|transfer-encoding:|expect:|upgrade:|origin:|connection:(?! *keep-alive\\r)";
/** A header line strictly as in RFC 9112, so that neither a proxy nor Node's parser can see another request in the same bytes. */
const field = `(?!${uncommon})[\\w-]+:[\\t -~\\x80-\\xff]*\\r\\n`;
const fields = new RegExp(`^(?:${field})*content-length: *(\\d{1,5})\\r\\n(?:${field})*$`, "i");

/**
 * Counts the bytes of a turn, head and body together.  @param bytes bytes from the beginning of a request on  @returns undefined for a request that
 * is not a turn, a head in another form, or a body of 100 kB or more
 */
export function countTurnBytes(bytes: Buffer): number | undefined {
  const beginning = bytes.toString("latin1", 0, Math.min(bytes.length, maxHeadBytes));
  const requestLine = requestLines.find((line) => beginning.startsWith(line));
  const length = requestLine === undefined ? -1 : beginning.indexOf(end);
  if (requestLine === undefined || length === -1) return undefined;
  const bodyBytes = fields.exec(beginning.slice(requestLine.length, length + 2))?.[1];
  return bodyBytes === undefined ? undefined : length + end.length + Number(bodyBytes);
}
