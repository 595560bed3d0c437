/** Authenticates the caller of an RPC: a process of Sluice with the service token, or a client with an API key. */
import { timingSafeEqual } from "node:crypto";
import { Fault, FaultReason } from "../faults/fault.ts";
import { type KeyKind, hashKey, kindOfKey } from "../ids/key.ts";
import { type ServiceToken, acceptedTokens } from "./service-token.ts";

export const serviceTokenHeader = "x-sluice-service-token";
export const keyHashHeader = "x-sluice-key-hash";
export const requestIdHeader = "x-request-id";
/** Carries the e-mail address of the person of a console session. It counts only together with the service token. */
export const personHeader = "x-sluice-person";
/** Carries the address of the client of a request. It counts only together with the service token. */
export const clientAddressHeader = "x-sluice-client-address";
/** Id of the workspace in which a management key of the account acts, instead of its own. */
export const workspaceHeader = "x-sluice-workspace";
export const generationIdHeader = "x-generation-id";

/** Request ids safe for logs, audit log and ledger. The ledger refuses a record with a longer text, and the call would be free. */
const requestIdForm = /^[\w-]{1,64}$/;

/** Compares in constant time, to prevent guessing the token byte by byte from the time of refusals. */
export function isServiceToken(presented: string | null, token: ServiceToken): boolean {
  if (presented === null) return false;
  const given = Buffer.from(presented);
  return acceptedTokens(token).some((accepted) => {
    const wanted = Buffer.from(accepted);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

/** Refuses callers of an internal RPC without the service token. */
export const requireServiceToken = (headers: Headers, token: ServiceToken): void =>
  checkServiceToken(headers.get(serviceTokenHeader), token);

/** @throws Fault UNAUTHENTICATED */
export function checkServiceToken(presented: string | null, token: ServiceToken): void {
  if (!isServiceToken(presented, token)) {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Internal method: the service token is missing or wrong");
  }
}

/** Parses a bearer key. Every malformed header gives the same message. */
export function parseBearer(authorization: string | null | undefined): { kind: KeyKind; keyHash: string } {
  if (authorization === null || authorization === undefined || authorization === "") {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Missing Authentication header");
  }
  const key = /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
  const kind = key === undefined ? undefined : kindOfKey(key);
  if (key === undefined || kind === undefined) throw invalidKey();
  return { kind, keyHash: hashKey(key) };
}

/** Malformed, unknown, disabled and expired keys get one identical answer. */
export const invalidKey = (): Fault => new Fault(FaultReason.UNAUTHENTICATED, "Invalid API key");

/** The caller's own request id, if it is well-formed. */
export function requestIdIn(headers: Headers): string | undefined {
  const presented = headers.get(requestIdHeader);
  return presented !== null && requestIdForm.test(presented) ? presented : undefined;
}

/** The person behind a call of a Sluice process; undefined when the call is only on behalf of a key. */
export function personIn(headers: Headers, token: ServiceToken): string | undefined {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) return undefined;
  return headers.get(personHeader) ?? undefined;
}

/** Hash of the calling key: given by a process of Sluice, or computed from the presented key. */
export function callerKeyHash(headers: Headers, token: ServiceToken): string {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) return parseBearer(headers.get("authorization")).keyHash;
  const keyHash = headers.get(keyHashHeader);
  if (keyHash === null) throw new Fault(FaultReason.UNAUTHENTICATED, `Missing ${keyHashHeader}`);
  return keyHash;
}
