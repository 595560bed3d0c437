/** Which addresses are on the public internet. What is not known to be is not: a range that nobody has thought of is refused. */
import ipaddr from "ipaddr.js";

/** Of all that IPv6 gives out, this alone is routed on the internet (https://www.iana.org/assignments/ipv6-address-space). */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/** Public by its number, and yet answered by the machine's own host: where Azure keeps credentials of a machine. */
const notPublic: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * Forms of IPv6 that carry an address of IPv4 (mapped, translated, 6to4, Teredo) are none: whoever wants that address can say so.
 * @param address as sockets and name services write it
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || notPublic.has(parsed.toString())) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast);
}
