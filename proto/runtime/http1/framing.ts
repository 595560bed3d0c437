/** How a request says where its body ends: what two servers could read in two ways is refused. */
import type { IncomingMessage } from "node:http";

/**
 * Codings that are not undone here, or a coding where HTTP/1.0 knows none. Node takes `gzip, chunked` for chunks, and hands the compressed bytes
 * on as the body. Two lengths, and a length beside chunks, are refused by its parser.
 */
export function hasUnknownFraming({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return coding !== undefined && (coding.trim().toLowerCase() !== "chunked" || httpVersion === "1.0");
}
