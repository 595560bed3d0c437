/** Who calls an RPC: one of our own processes with the service token, or anybody with an API key. */
import { timingSafeEqual } from "node:crypto";
import { Fault, FaultReason } from "../fault.ts";
import { type KeyKind, hashKey, kindOfKey } from "../key.ts";
import { type ServiceToken, acceptedBy } from "./service-token.ts";

export const serviceTokenHeader = "x-sluice-service-token";
export const keyHashHeader = "x-sluice-key-hash";
export const requestIdHeader = "x-request-id";
export const generationIdHeader = "x-generation-id";

/** It goes into logs, the audit log and the ledger, which takes no record with a longer text: such a call would have cost nothing. */
const requestIdForm = /^[\w-]{1,64}$/;

/** Constant-time, so that the token cannot be found byte by byte. */
export function isServiceToken(presented: string | null, token: ServiceToken): boolean {
  if (presented === null) return false;
  const given = Buffer.from(presented);
  return acceptedBy(token).some((accepted) => {
    const wanted = Buffer.from(accepted);
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  });
}

/** Guards internal RPCs. */
export function requireServiceToken(headers: Headers, token: ServiceToken): void {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Internal method: the service token is missing or wrong");
  }
}

/** A key as a bearer presents it; the one message for every way in which it can be wrong. */
export function parseBearer(authorization: string | null | undefined): { kind: KeyKind; keyHash: string } {
  if (authorization === null || authorization === undefined || authorization === "") {
    throw new Fault(FaultReason.UNAUTHENTICATED, "Missing Authentication header");
  }
  const key = /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
  const kind = key === undefined ? undefined : kindOfKey(key);
  if (key === undefined || kind === undefined) throw invalidKey();
  return { kind, keyHash: hashKey(key) };
}

/** Malformed, unknown, disabled, expired: one identical answer. */
export const invalidKey = (): Fault => new Fault(FaultReason.UNAUTHENTICATED, "Invalid API key");

/** By which the caller knows its request, where that is a name that may be kept. */
export function requestIdIn(headers: Headers): string | undefined {
  const presented = headers.get(requestIdHeader);
  return presented !== null && requestIdForm.test(presented) ? presented : undefined;
}

/** The hash of the calling key: vouched for by one of our processes, or presented as the key itself. */
export function callerKeyHash(headers: Headers, token: ServiceToken): string {
  if (!isServiceToken(headers.get(serviceTokenHeader), token)) return parseBearer(headers.get("authorization")).keyHash;
  const keyHash = headers.get(keyHashHeader);
  if (keyHash === null) throw new Fault(FaultReason.UNAUTHENTICATED, `Missing ${keyHashHeader}`);
  return keyHash;
}
