/** Lists of IP addresses and networks, and the search for an address in them. */
import { BlockList, SocketAddress, isIP, isIPv4, isIPv6 } from "node:net";

const mappedPrefix = "::ffff:";
/** Number of bits before the IPv4 address in an IPv6 address that contains it. */
const mappedBits = 96;

/**
 * Normalizes an address to its shortest spelling, so equal addresses are equal texts: without its zone, and as
 * IPv4 if it is an IPv4 address within IPv6, as sockets for both versions have it.
 * @returns the text unchanged when it is not an address
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
  /** Length of the network's prefix in bits; undefined for a single address. */
  readonly prefix: number | undefined;
}

/** Parses an address or network; undefined for any other text. */
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
  // A shorter prefix would include more than IPv4 addresses.
  return prefix < mappedBits ? undefined : { address, family, prefix: prefix - mappedBits };
}

/** Pattern for schemas: it matches all texts that `isNetwork` accepts, and some others. */
export const networkPattern = String.raw`^[0-9A-Fa-f:.]+(?:/\d{1,3})?$`;

/** Whether a text is an address, or a network such as `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined;

/** Whether a text is a network that contains all addresses of an IP version. */
export const isEverywhere = (text: string): boolean => parseNetwork(text)?.prefix === 0;

/** Networks that were parsed before, by their lists, for as long as the lists are in use. */
const known = new WeakMap<readonly string[], Networks>();

/** The networks of a list; repeated calls with the same array parse it once. */
export function networksOf(list: readonly string[]): Networks {
  let networks = known.get(list);
  if (!networks) known.set(list, (networks = new Networks(list)));
  return networks;
}

/**
 * A set of addresses and networks of both IP versions. An IPv4 address is searched only in IPv4 networks, which may be
 * written within IPv6 (`::ffff:192.0.2.0/120`).
 */
export class Networks {
  /**
   * One list for each IP version: a common list would find every IPv4 address in IPv6 networks that contain
   * `::ffff:0:0`, such as `::/0`.
   */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  readonly #isEmpty: boolean;

  /** @param networks texts accepted by `isNetwork`; others are ignored */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const text of networks) {
      const network = parseNetwork(text);
      if (!network) continue;
      const { address, family, prefix } = network;
      if (prefix === undefined) this.#lists[family].addAddress(address, family);
      else this.#lists[family].addSubnet(address, prefix, family);
    }
  }

  /**
   * Whether an address is in the set; false for a text that is not an address. @param address as normalized by
   * `plainAddress`
   */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    return this.#lists[family].check(address, family);
  }
}
