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
  if (networksOf(allowed).has(address)) return;
  const metadata = { error_type: "permission_denied", permission: "allowed_networks", value: address };
  throw new Fault(
    FaultReason.PERMISSION_DENIED,
    `This key may not be used from ${address || "an unknown address"} (allowed_networks)`,
    { origin: FaultOrigin.CLIENT, metadata },
  );
}
