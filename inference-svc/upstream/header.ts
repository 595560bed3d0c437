/** Headers of an answer. A proxy that adds one that was there already makes a list of it. */
import type { IncomingHttpHeaders } from "node:http";

/** The first of that name. @param name in lower case */
export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
