/** The address of a client. Behind an operator's proxies, it is in a header that these write. */
import { isIP } from "node:net";
import { type Networks, plainAddress } from "@sluice/proto/lib/networks/networks.js";

/** Maximum number of entries in the header. Proxies append their entries, so more than these must come from the client. */
const maxForwarded = 32;

/**
 * The address of a request's client: the last entry of `X-Forwarded-For` that is not a trusted proxy. The header counts only in requests from such a
 * proxy, since anybody else could write anything into it. Entries before an invalid one are not believed.  @param peer address of the other end of
 * the connection; undefined once it is closed  @param forwardedFor value of the header; of a repeated header, all values in order  @returns an
 * address without a port; empty without a peer
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | readonly string[] | undefined,
  proxies: Networks,
): string {
  let address = plainAddress(peer ?? "");
  if (forwardedFor === undefined || !proxies.has(address)) return address;
  const forwarded = String(forwardedFor).split(",").slice(-maxForwarded);
  while (forwarded.length > 0 && proxies.has(address)) {
    const entry = addressIn(forwarded.pop() ?? "");
    if (entry === undefined) return address;
    address = entry;
  }
  return address;
}

/** The address in an entry. Some proxies write it with a port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : plainAddress(address);
}
