/** The address of a client, also behind proxies of the operator, which write it to a header. */
import { isIP } from "node:net";
import { type Networks, plainAddress } from "@sluice/proto/lib/networks/networks.js";

/** Proxies add to the header at its end, so more entries than these are a client's. */
const maxForwarded = 32;

/**
 * The address of the client of a request: of `X-Forwarded-For` the last entry that is no trusted proxy. The header counts only in requests of such a proxy,
 * since everybody else could write anything there. Entries before one that is no address are not believed.
 * @param peer address of the other end of the connection; undefined once it is closed
 * @param forwardedFor value of the header; of a repeated header, the values in their order
 * @returns a plain address; empty without a peer
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

/** The address of an entry, which some proxies write with a port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
function addressIn(entry: string): string | undefined {
  const text = entry.trim();
  const address = /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? undefined : plainAddress(address);
}
