/** The key of a request, read from headers that can be read in one way only. */
import type { IncomingMessage } from "node:http";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { KeyKind } from "@sluice/proto/runtime/key.js";
import { parseBearer } from "@sluice/proto/runtime/rpc/caller.js";

const maxHeaders = 100;
/** Node keeps the first of several, other servers the last: whoever sends two means to be read in two ways. */
const single = new Set(["authorization", "host", "content-type", "idempotency-key"]);

/** @throws Fault INVALID_REQUEST for ambiguous headers, UNAUTHENTICATED without a well-formed key */
export function readKey(request: IncomingMessage): { readonly kind: KeyKind; readonly keyHash: string } {
  checkHeaders(request);
  return parseBearer(request.headers.authorization);
}

/** The hash of a key that may or may not be known; undefined where there is none. */
export function keyHashOf(authorization: string | undefined): string | undefined {
  try {
    return parseBearer(authorization).keyHash;
  } catch {
    return undefined;
  }
}

function checkHeaders({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw refused(`more than ${maxHeaders} headers`);
  const seen = new Set<string>();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    if (!single.has(name)) continue;
    if (seen.has(name)) throw refused(`header ${name} is sent more than once`);
    seen.add(name);
  }
  if (headers.host === undefined && httpVersion === "1.1") throw refused("header host is missing");
}

const refused = (message: string): Fault =>
  new Fault(FaultReason.INVALID_REQUEST, `Malformed HTTP request: ${message}`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request" },
  });
