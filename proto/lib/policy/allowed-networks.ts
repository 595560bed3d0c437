/** Checks that a key is used from one of its allowed networks. */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import { networksOf } from "../networks/networks.ts";

/**
 * Refuses a key that is used from an address outside its allowed networks.
 * @param allowed networks of the key; an empty list allows every address
 * @param address normalized address of the client; empty when unknown, which no list allows
 * @throws Fault PERMISSION_DENIED naming the setting and the address
 */
export function requireAllowedNetwork(allowed: readonly string[], address: string): void {
  if (allowed.length === 0) return;
  if (!networksOf(allowed).has(address)) throw networkRefusal(address);
}

const permission = "allowed_networks";

/** The fault for a key that is used from a forbidden address. */
export const networkRefusal = (address: string): Fault =>
  new Fault(
    FaultReason.PERMISSION_DENIED,
    `This key may not be used from ${address || "an unknown address"} (${permission})`,
    { origin: FaultOrigin.CLIENT, metadata: { error_type: "permission_denied", permission, value: address } },
  );

/** Whether a fault refuses a key because of the client's address. */
export const isNetworkRefusal = ({ reason, metadata }: Fault): boolean =>
  reason === FaultReason.PERMISSION_DENIED && metadata?.["permission"] === permission;

/**
 * Whether a fault refuses the key itself, because it is unknown or its network is not allowed, so no rate limit of
 * a key counts the request.
 */
export const isKeyRefusal = (fault: Fault): boolean =>
  fault.reason === FaultReason.UNAUTHENTICATED || isNetworkRefusal(fault);
