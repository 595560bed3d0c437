/** Holds keys to the networks from which they may be used. */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import { networksOf } from "../networks/networks.ts";

/**
 * Refuses a key that is used from elsewhere.
 * @param allowed networks of the key; an empty list allows every address
 * @param address plain address of the client; empty when it is unknown, which no list allows
 * @throws Fault PERMISSION_DENIED naming the setting and the address
 */
export function requireAllowedNetwork(allowed: readonly string[], address: string): void {
  if (allowed.length === 0) return;
  if (!networksOf(allowed).has(address)) throw networkRefusal(address);
}

const permission = "allowed_networks";

/** The refusal of a key that is used from an address. */
export const networkRefusal = (address: string): Fault =>
  new Fault(
    FaultReason.PERMISSION_DENIED,
    `This key may not be used from ${address || "an unknown address"} (${permission})`,
    { origin: FaultOrigin.CLIENT, metadata: { error_type: "permission_denied", permission, value: address } },
  );

/** Whether a fault refuses a key for the address from which it is used. */
export const isNetworkRefusal = ({ reason, metadata }: Fault): boolean =>
  reason === FaultReason.PERMISSION_DENIED && metadata?.["permission"] === permission;

/** Whether a fault refuses the key itself, which is unknown or used from elsewhere, so that no limit of a key counts its requests. */
export const isKeyRefusal = (fault: Fault): boolean =>
  fault.reason === FaultReason.UNAUTHENTICATED || isNetworkRefusal(fault);
