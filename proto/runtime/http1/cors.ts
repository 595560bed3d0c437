/**
 * Cross-origin requests: which pages may call from a browser. Off unless origins are configured.
 *
 * Keys travel in a header that the page itself sets, so that credentials of the browser are never allowed.
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Chrome keeps an answer no longer, whatever it says. */
const maxAgeSeconds = 7_200;

const preflightHeaders = {
  "access-control-allow-methods": "GET, POST, PATCH, DELETE",
  // Without credentials * means all others, such as those by which SDKs describe themselves; authorization has to be named.
  "access-control-allow-headers":
    "authorization, content-type, x-service-metadata, x-session-id, idempotency-key, x-request-id, x-request-timeout-ms, *",
  "access-control-max-age": String(maxAgeSeconds),
};

/** True when the request was a preflight, and has been answered. Sets headers that the later answer carries, whatever it is. */
export type Cors = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * @param origins of pages, or `*` for all. Undefined when there are none.
 * @param exposed headers of an answer that pages may read
 */
export function corsFor(origins: readonly string[], exposed: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const all = origins.includes("*");
  const exposedNames = exposed.join(", ");
  const allowed = new Set(origins.filter((origin) => origin !== "*").map((origin) => new URL(origin).origin));
  return (request, response) => {
    const { origin } = request.headers;
    // A cache must not give one page what was said to another.
    if (!all) response.setHeader("vary", "origin");
    if (origin === undefined || !(all || allowed.has(origin))) return false;
    response.setHeader("access-control-allow-origin", all ? "*" : origin);
    response.setHeader("access-control-expose-headers", exposedNames);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
    response.writeHead(204, preflightHeaders).end();
    return true;
  };
}
