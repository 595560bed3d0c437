/** Decides whether an address is on the public internet. Addresses in unknown ranges are refused. */
import ipaddr from "ipaddr.js";

/** The only IPv6 range routed on the internet (https://www.iana.org/assignments/ipv6-address-space). */
const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];

/** An address in a public range at which Azure's hosts themselves answer, with credentials of the machine. */
const notPublic: ReadonlySet<string> = new Set(["168.63.129.16"]);

/**
 * IPv6 addresses that contain an IPv4 address (mapped, translated, 6to4, Teredo) are refused, because the IPv4 address
 * can be used directly.
 * @param address address as sockets and name servers write it
 */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== "unicast" || notPublic.has(parsed.toString())) return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast);
}
