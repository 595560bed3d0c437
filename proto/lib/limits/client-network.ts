/** Groups the addresses of one client. */

/**
 * The network of a client: of an IPv6 address the first 64 bits, since all addresses with the same 64 bits belong to
 * one client.
 */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [head = "", tail = ""] = address.split("%", 1)[0]?.split("::", 2) ?? [];
  const groups = head === "" ? [] : head.split(":");
  const omitted = 8 - groups.length - (tail === "" ? 0 : tail.split(":").length);
  return [...groups, ...Array.from({ length: omitted }, () => "0"), ...tail.split(":")].slice(0, 4).join(":");
}
