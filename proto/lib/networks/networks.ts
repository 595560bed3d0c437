/** Lists of addresses and networks, in which an address is found. */
import { BlockList, SocketAddress, isIP, isIPv4, isIPv6 } from "node:net";

const mappedPrefix = "::ffff:";
/** Bits before the IPv4 address in an IPv6 address that contains one. */
const mappedBits = 96;

/**
 * An address in its shortest spelling, by which equal addresses are equal texts: without its zone, and as IPv4 where IPv6 contains an IPv4 address, as on
 * sockets for both versions.
 * @returns the text itself when it is no address
 */
export function plainAddress(text: string): string {
  if (isIPv4(text) || !isIPv6(text)) return text;
  const [withoutZone = ""] = text.split("%", 1);
  const { address } = new SocketAddress({ address: withoutZone, family: "ipv6" });
  const mapped = address.slice(mappedPrefix.length);
  return address.startsWith(mappedPrefix) && isIPv4(mapped) ? mapped : address;
}

interface Network {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  /** Undefined for a single address. */
  readonly prefix: number | undefined;
}

/** Undefined for a text that names no network. */
function parseNetwork(text: string): Network | undefined {
  const [, written = "", bits] = /^([^/%]+)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const version = isIP(written);
  if (version === 0) return undefined;
  const prefix = bits === undefined ? undefined : Number(bits);
  if (prefix !== undefined && prefix > (version === 4 ? 32 : 128)) return undefined;
  const address = plainAddress(written);
  const family = isIPv4(address) ? "ipv4" : "ipv6";
  const isMapped = version === 6 && family === "ipv4";
  if (!isMapped || prefix === undefined) return { address, family, prefix };
  // A shorter prefix would reach beyond the IPv4 addresses.
  return prefix < mappedBits ? undefined : { address, family, prefix: prefix - mappedBits };
}

/** Whether a text is an address, or a network such as `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined;

/** Lists that were asked for before, for as long as they are in use. */
const known = new WeakMap<readonly string[], Networks>();

/** The networks of a list, which is read once for all calls with the same array. */
export function networksOf(list: readonly string[]): Networks {
  let networks = known.get(list);
  if (!networks) known.set(list, (networks = new Networks(list)));
  return networks;
}

/** Addresses and networks of both versions. */
export class Networks {
  readonly #list = new BlockList();
  readonly #isEmpty: boolean;

  /** @param networks each accepted by `isNetwork`; others are left out */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const text of networks) {
      const network = parseNetwork(text);
      if (!network) continue;
      const { address, family, prefix } = network;
      if (prefix === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, prefix, family);
    }
  }

  /** Whether a plain address is one of these. A text that is no address is none of them. */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    return this.#list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
  }
}
