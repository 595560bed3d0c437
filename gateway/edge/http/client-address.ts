/** The address of a client, also behind proxies of the operator, which write it to a header. */
import type { IncomingMessage } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";

/** Addresses and networks, as the configuration file names them. */
export class Networks {
  readonly #list = new BlockList();

  constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = "", prefix] = network.split("/");
      const family = isIPv6(address) ? "ipv6" : "ipv4";
      if (prefix === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, Number(prefix), family);
    }
  }

  /** Whether an address is one of these. A text that is no address is none of them. */
  has(address: string): boolean {
    return this.#list.check(address, isIPv6(address) ? "ipv6" : "ipv4");
  }
}

/** Proxies add to the header at its end, so more entries than these are a client's. */
const maxForwarded = 32;

/**
 * The address of the client of a request: of `X-Forwarded-For` the last entry that is no trusted proxy. The header counts only in requests of such a proxy,
 * since everybody else could write anything there. Entries before one that is no address are not believed.
 */
export function clientAddress(
  { socket, headers }: Pick<IncomingMessage, "socket" | "headers">,
  proxies: Networks,
): string {
  let address = socket.remoteAddress ?? "";
  const header = headers["x-forwarded-for"];
  if (header === undefined || !proxies.has(address)) return address;
  const forwarded = String(header).split(",").slice(-maxForwarded);
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
  return isIP(address) === 0 ? undefined : address;
}
