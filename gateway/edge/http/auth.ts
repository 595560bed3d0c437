/** Reads the key of a request, and rejects headers that two servers could read differently. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { parseBearer } from "@sluice/proto/lib/rpc/caller.js";

/** A key as presented on a connection. Its validity is decided anew for each request. */
class PresentedKey {
  /** The values of the key headers, joined. */
  readonly headers: string;
  readonly keyHash: string;

  constructor(headers: string, keyHash: string) {
    this.headers = headers;
    this.keyHash = keyHash;
  }
}

/** Property of a socket with the key presented last: comparing the headers is cheaper than checking and hashing a key again. */
const presentedKey = Symbol("presented key");
type KeyedSocket = Socket & { [presentedKey]?: PresentedKey };

/** @throws Fault INVALID_REQUEST for ambiguous headers, UNAUTHENTICATED without a well-formed key */
export function readKeyHash(request: IncomingMessage): string {
  checkHeaders(request);
  return presentedHash(request);
}

/** The hash of the presented key, known or not; undefined without a well-formed key. */
export function findKeyHash(request: IncomingMessage): string | undefined {
  try {
    return presentedHash(request);
  } catch {
    return undefined;
  }
}

function presentedHash(request: IncomingMessage): string {
  const { authorization, "x-api-key": other } = request.headers;
  const headers = other === undefined ? authorization : `${authorization ?? ""},${String(other)}`;
  const socket: KeyedSocket = request.socket;
  const known = socket[presentedKey];
  if (known !== undefined && known.headers === headers) return known.keyHash;
  const keyHash = other === undefined ? parseBearer(authorization).keyHash : otherHash(authorization, String(other));
  socket[presentedKey] = new PresentedKey(headers as string, keyHash);
  return keyHash;
}

/**
 * The hash of a key in `x-api-key`. @param authorization value of the other key header, which must contain the same key @param other value of
 * `x-api-key`, used by clients of the Messages format
 */
function otherHash(authorization: string | undefined, other: string): string {
  const { keyHash } = parseBearer(`Bearer ${other}`);
  if (authorization !== undefined && parseBearer(authorization).keyHash !== keyHash) {
    throw refused("the headers authorization and x-api-key name different keys");
  }
  return keyHash;
}

const maxHeaders = 100;
/**
 * Headers that may occur only once, each with a bit. If one is repeated, Node keeps the first value and other servers the last, and a client could
 * exploit the difference.
 */
const single: ReadonlyMap<string, number> = new Map([
  ["authorization", 1],
  ["host", 2],
  ["content-type", 4],
  ["idempotency-key", 8],
  ["x-api-key", 16],
]);
const singleLengths: ReadonlySet<number> = new Set([...single.keys()].map((name) => name.length));

function checkHeaders({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maxHeaders) throw refused(`more than ${maxHeaders} headers`);
  let seen = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const written = rawHeaders[i]!;
    if (!singleLengths.has(written.length)) continue;
    const name = written.toLowerCase();
    const bit = single.get(name) ?? 0;
    if ((seen & bit) !== 0) throw refused(`header ${name} is sent more than once`);
    seen |= bit;
  }
  if (headers.host === undefined && httpVersion === "1.1") throw refused("header host is missing");
}

const refused = (message: string): Fault =>
  new Fault(FaultReason.INVALID_REQUEST, `Malformed HTTP request: ${message}`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request" },
  });
