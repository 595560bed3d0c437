/** Checks whether a URL may be fetched, and resolves its host to the addresses to which alone a connection is allowed. */
import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import { isPublic } from "./public-address.ts";
import { type Domains, isAllowed } from "./domains.ts";
import { PageUnreadable } from "./page-unreadable.ts";
import { parseUrl } from "../../turn/url.ts";

/**
 * Resolves all addresses of a host.
 * @throws Error when the host has none
 */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export interface FetchTarget {
  readonly url: URL;
  /** Addresses of the host; never empty. */
  readonly addresses: readonly string[];
  /** Whether the configuration allows private addresses for the origin. */
  readonly isTrusted: boolean;
}

const maxUrlLength = 2_048;

/** Checks a URL without its address. @throws PageUnreadable for a URL that is forbidden whatever the address */
export function checkUrl(text: string, domains: Domains, trusted: ReadonlySet<string>, base?: URL): URL {
  const url = text.length > maxUrlLength ? undefined : parseUrl(text, base?.href);
  if (url === undefined) throw new PageUnreadable("not a valid URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new PageUnreadable("not an http or https URL");
  if (url.username !== "" || url.password !== "") throw new PageUnreadable("a URL with credentials");
  // In a parsed URL, a default port is empty.
  if (!trusted.has(url.origin) && !["", "80", "443"].includes(url.port))
    throw new PageUnreadable("a port other than 80 and 443");
  if (!isAllowed(domains, url)) throw new PageUnreadable("not among the allowed domains");
  url.hash = "";
  return url;
}

/**
 * Resolves the host once, so later changes of its DNS records have no effect (DNS rebinding).
 * @throws PageUnreadable when an address is not public, with the same message as for an unknown name, so private names
 * cannot be probed
 */
export async function resolveTarget(url: URL, resolve: Resolve, trusted: ReadonlySet<string>): Promise<FetchTarget> {
  const isTrusted = trusted.has(url.origin);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = ipaddr.isValid(host) ? [host] : await resolve(host).catch(() => []);
  if (addresses.length === 0 || !(isTrusted || addresses.every(isPublic))) {
    throw new PageUnreadable("a host that is not on the public internet");
  }
  return { url, addresses, isTrusted };
}
