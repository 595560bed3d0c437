/** Reads the path of a request without normalizing it; a segment is decoded exactly once. */
import type { IncomingMessage } from "node:http";
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

const absoluteForm = /^https?:\/\/([^/?#]*)([^?]*)/i;

/** The path in a URL, absolute or not, up to its query and without percent-decoding. */
export function pathIn(url: string): string {
  const absolute = url.startsWith("/") ? null : absoluteForm.exec(url);
  if (absolute) return absolute[2] || "/";
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

/** Method and path of a request, for the audit log. */
export const auditedCall = ({ method, url = "" }: Pick<IncomingMessage, "method" | "url">): string =>
  `${method} ${pathIn(url)}`;

/**
 * The path of a request up to its query, without percent-decoding.  @throws Fault INVALID_REQUEST if an absolute URL has another host than the Host
 * header
 */
export function rawPath({ url = "", headers }: IncomingMessage): string {
  const [, authority] = url.startsWith("/") ? [] : (absoluteForm.exec(url) ?? []);
  if (authority !== undefined && authority.toLowerCase() !== headers.host?.toLowerCase()) {
    throw invalid("url", "the host of the request line differs from the Host header");
  }
  return pathIn(url);
}

/** The path that a client means whose base URL lacks the base path, repeats it, or ends in a slash. */
export const toPathUnderBase = (path: string): string =>
  basePath + path.replaceAll(/\/{2,}/g, "/").replace(/^(?:\/(?:api|v1)(?=\/))+|\/$/g, "");

const encoded = /^(?:[!-$&-~]|%[0-9a-fA-F]{2})*$/;

/** Decodes a path segment once.  @param name field name for error messages  @throws Fault INVALID_REQUEST for text that decoders disagree about */
export function decodeSegment(segment: string, name: string): string {
  if (!encoded.test(segment)) throw invalid(name, "malformed percent-encoding");
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalid(name, "percent-encoding of invalid UTF-8");
  }
}
