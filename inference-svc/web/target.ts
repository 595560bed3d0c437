/** Where a page is fetched from: whether its URL may be asked for at all, and the addresses at which, which are then the only ones. */
import { lookup } from "node:dns/promises";
import ipaddr from "ipaddr.js";
import { isPublic } from "./address.ts";
import { type Domains, admits } from "./domains.ts";
import { Unread } from "./unread.ts";
import { urlIn } from "../turn/url.ts";

/** All addresses of a host. @throws Error when it has none */
export type Resolve = (host: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

export interface Target {
  readonly url: URL;
  /** At least one. */
  readonly addresses: readonly string[];
  /** Whether the operator believes whatever the host resolves to. */
  readonly isBelieved: boolean;
}

const longestUrl = 2_048;

/** @throws Unread for what may not be fetched, wherever it is */
export function checkedUrl(text: string, domains: Domains, believed: ReadonlySet<string>, base?: URL): URL {
  const url = text.length > longestUrl ? undefined : urlIn(text, base?.href);
  if (url === undefined) throw new Unread("not a URL that can be read");
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new Unread("not an http or https URL");
  if (url.username !== "" || url.password !== "") throw new Unread("a URL with credentials");
  // The port of the scheme is written as none.
  if (!believed.has(url.origin) && !["", "80", "443"].includes(url.port))
    throw new Unread("a port other than 80 and 443");
  if (!admits(domains, url)) throw new Unread("not among the domains that may be read");
  url.hash = "";
  return url;
}

/**
 * Resolves the host once: whoever connects afterwards takes these addresses, whatever the name stands for by then.
 * @throws Unread when one of the addresses is not public; the same words as for a name that does not exist, so that nobody learns which names do
 */
export async function targetOf(url: URL, resolve: Resolve, believed: ReadonlySet<string>): Promise<Target> {
  const isBelieved = believed.has(url.origin);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = ipaddr.isValid(host) ? [host] : await resolve(host).catch(() => []);
  if (addresses.length === 0 || !(isBelieved || addresses.every(isPublic))) {
    throw new Unread("a host that is not on the public internet");
  }
  return { url, addresses, isBelieved };
}
