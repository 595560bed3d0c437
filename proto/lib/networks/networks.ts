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

/** Pattern of every text accepted by `isNetwork`, for schemas: it is wider. */
export const networkPattern = String.raw`^[0-9A-Fa-f:.]+(?:/\d{1,3})?$`;

/** Whether a text is an address, or a network such as `10.0.0.0/8`. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== undefined;

/** Whether a text is a network of all addresses of a version. */
export const isEverywhere = (text: string): boolean => parseNetwork(text)?.prefix === 0;

/** Lists that were asked for before, for as long as they are in use. */
const known = new WeakMap<readonly string[], Networks>();

/** The networks of a list, which is read once for all calls with the same array. */
export function networksOf(list: readonly string[]): Networks {
  let networks = known.get(list);
  if (!networks) known.set(list, (networks = new Networks(list)));
  return networks;
}

/** Addresses and networks of both versions. An IPv4 address is in IPv4 networks only, which may be spelled within IPv6 (`::ffff:192.0.2.0/120`). */
export class Networks {
  /** A list of its own for each version: a list of both would find every IPv4 address in IPv6 networks that contain `::ffff:0:0`, such as `::/0`. */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  readonly #isEmpty: boolean;

  /** @param networks each accepted by `isNetwork`; others are left out */
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

  /** Whether a plain address is one of these. A text that is no address is none of them. */
  has(address: string): boolean {
    if (this.#isEmpty) return false;
    const family = isIPv4(address) ? "ipv4" : "ipv6";
    return this.#lists[family].check(address, family);
  }
}
