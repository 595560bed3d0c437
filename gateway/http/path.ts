/** The path of a request as it was sent: nothing is normalised, and a segment is decoded exactly once. */
import type { IncomingMessage } from "node:http";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";

const absoluteForm = /^https?:\/\/([^/?#]*)([^?]*)/i;

/**
 * Up to the query, undecoded.
 * @throws Fault INVALID_REQUEST when an absolute URL names another host than the Host header
 */
export function rawPath({ url = "", headers }: IncomingMessage): string {
  if (url.startsWith("/")) return withoutQuery(url);
  const absolute = absoluteForm.exec(url);
  if (!absolute) return withoutQuery(url);
  const [, authority = "", path = ""] = absolute;
  if (authority.toLowerCase() !== headers.host?.toLowerCase()) {
    throw invalid("url", "the host of the request line differs from the Host header");
  }
  return path === "" ? "/" : path;
}

function withoutQuery(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

const encoded = /^(?:[!-$&-~]|%[0-9a-fA-F]{2})*$/;

/**
 * A segment, decoded once.
 * @param name what problems are reported under
 * @throws Fault INVALID_REQUEST for anything that decoders disagree about
 */
export function decodeSegment(segment: string, name: string): string {
  if (!encoded.test(segment)) throw invalid(name, "malformed percent-encoding");
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid(name, "percent-encoding of invalid UTF-8");
  }
}
