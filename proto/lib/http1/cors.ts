/**
 * Cross-origin requests from the scripts of listed pages. Off unless origins are configured.
 *
 * Keys travel in a header set by the page itself, so the browser's credentials are never allowed.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Maximum time for which Chrome caches a preflight answer. */
const maxAgeSeconds = 7_200;

const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE",
  // For requests without credentials, * covers every header except authorization, including the headers by which SDKs describe themselves.
  "access-control-allow-headers":
    "authorization, content-type, x-service-metadata, x-session-id, x-sluice-tags, idempotency-key, x-request-id, x-request-timeout-ms, *",
  "access-control-max-age": String(maxAgeSeconds),
};

/** Returns true when the request was a preflight and has been answered. Otherwise it only sets headers of the later answer. */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * @param origins of pages, or `*` for all. Undefined when the list is empty.
 * @param exposed response headers readable by pages
 */
export function corsFor(origins: readonly string[], exposed: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const all = origins.includes("*");
  const exposedNames = exposed.join(", ");
  const allows = originsAllowed(origins);
  return (request, response) => {
    const { origin } = request.headers;
    // Keeps a cache from giving one page the answer for another.
    if (!all) response.setHeader("vary", "origin");
    if (origin === undefined || !allows(origin)) return false;
    response.setHeader("access-control-allow-origin", all ? "*" : origin);
    response.setHeader("access-control-expose-headers", exposedNames);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
    response.writeHead(204, preflightHeaders).end();
    return true;
  };
}

/** @param origins of pages, or `*` for all */
export function originsAllowed(origins: readonly string[]): (origin: string) => boolean {
  if (origins.includes("*")) return () => true;
  const allowed = new Set(origins.map((origin) => new URL(origin).origin));
  return (origin) => allowed.has(origin);
}
