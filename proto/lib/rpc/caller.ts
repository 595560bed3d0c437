/** Authenticates the caller of an RPC: a process of Sluice with the service token, or a client with an API key. */
import { timingSafeEqual } from "node:crypto";
import { Fault, FaultReason } from "../faults/fault.ts";
import { type KeyKind, hashKey, kindOfKey } from "../ids/key.ts";
import { type ServiceToken, acceptedTokens } from "./service-token.ts";

export const serviceTokenHeader = "x-sluice-service-token";
export const keyHashHeader = "x-sluice-key-hash";
export const requestIdHeader = "x-request-id";
/** Header with the e-mail address of the person in a console session. It is ignored without the service token. */
export const personHeader = "x-sluice-person";
/** Header with the network address of a request's client. It is ignored without the service token. */
export const clientAddressHeader = "x-sluice-client-address";
/** Header with the id of the workspace in which an account-wide management key acts. */
export const workspaceHeader = "x-sluice-workspace";
export const generationIdHeader = "x-generation-id";

/**
 * Form of request ids that are safe for logs, audit log and ledger. The ledger refuses a record with a longer text, and
 * the call would be free.
 */
const requestIdForm = /^[\w-]{1,64}$/;

/**
 * Whether a token is the service token. The comparison takes constant time, so the token cannot be guessed byte by
 * byte from the time of refusals.
 */
export function isServiceToken(presented: string | null, token: ServiceToken): boolean {
  if (presented === null) return false;
  const given = Buffer.from(presented);
  return acceptedTokens(token).some((accepted) => {
    const wanted = Buffer.from(accepted);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

/** Refuses callers of an internal RPC that do not present the service token. */
export const requireServiceToken = (headers: Headers, token: ServiceToken): void =>
  checkServiceToken(headers.get(serviceTokenHeader), token);

/** @throws Fault UNAUTHENTICATED unless the token is the service token */
export function checkServiceToken(presented: string | null, token: ServiceToken): void {
  if (!isServiceToken(presented, token)) {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Internal method: the service token is missing or wrong");
  }
}

/** Parses the key in an Authorization header. Every malformed header gets the same error text. */
export function parseBearer(authorization: string | null | undefined): { kind: KeyKind; keyHash: string } {
  if (authorization === null || authorization === undefined || authorization === "") {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Missing Authentication header");
  }
  const key = /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
  const kind = key === undefined ? undefined : kindOfKey(key);
  if (key === undefined || kind === undefined) throw invalidKey();
  return { kind, keyHash: hashKey(key) };
}

/** The error for malformed, unknown, disabled and expired keys, which are deliberately not distinguished. */
export const invalidKey = (): Fault => new Fault(FaultReason.UNAUTHENTICATED, "Invalid API key");

/** Request id that the caller has sent, if it is well-formed. */
export function requestIdIn(headers: Headers): string | undefined {
  const presented = headers.get(requestIdHeader);
  return presented !== null && requestIdForm.test(presented) ? presented : undefined;
}

/** The person on whose behalf a Sluice process calls; undefined when the call is only on behalf of a key. */
export function personIn(headers: Headers, token: ServiceToken): string | undefined {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) return undefined;
  return headers.get(personHeader) ?? undefined;
}

/** Hash of the calling key: sent by a process of Sluice, or computed from the presented key. */
export function callerKeyHash(headers: Headers, token: ServiceToken): string {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) return parseBearer(headers.get("authorization")).keyHash;
  const keyHash = headers.get(keyHashHeader);
  if (keyHash === null) throw new Fault(FaultReason.UNAUTHENTICATED, `Missing ${keyHashHeader}`);
  return keyHash;
}
