/** The head of a turn as nearly every client writes it, understood without a parser. One that is written in any other way is Node's to read. */

export const responsesPath = "/api/v1/responses";
const requestLine = `POST ${responsesPath} HTTP/1.1\r\n`;
/** Longer ones are rare, and a rare one may take its time. */
const mostBytes = 4_096;
const end = "\r\n\r\n";

/** Another framing than by one length, a client that waits for a word of ours, a page, which is owed headers of its own. */
const uncommon = "content-length:|transfer-encoding:|expect:|upgrade:|origin:|connection:(?! *keep-alive\\r)";
/** By the letter of RFC 9112, so that nobody before or behind us can see another request in the same bytes. */
const field = `(?!${uncommon})[\\w-]+:[\\t -~\\x80-\\xff]*\\r\\n`;
const fields = new RegExp(`^(?:${field})*content-length: *(\\d{1,5})\\r\\n(?:${field})*$`, "i");

/**
 * How many bytes a turn has, head and body.
 * @param bytes the first of a request
 * @returns undefined for all that is not a turn, or not so plain, and for a body of 100 kB and more
 */
export function bytesOfTurn(bytes: Buffer): number | undefined {
  const beginning = bytes.toString("latin1", 0, Math.min(bytes.length, mostBytes));
  const length = beginning.startsWith(requestLine) ? beginning.indexOf(end) : -1;
  if (length === -1) return undefined;
  const bodyBytes = fields.exec(beginning.slice(requestLine.length, length + 2))?.[1];
  return bodyBytes === undefined ? undefined : length + end.length + Number(bodyBytes);
}
