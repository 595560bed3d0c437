/**
 * Decides whether an address may be passed on to a provider, which loads it from its own network, often that of the
 * operator. The rules are those for Sluice's own fetches, except for ports, since the provider's network may allow
 * others.
 */
import ipaddr from "ipaddr.js";
import { parseUrl } from "../../turn/url.ts";
import { isPublic } from "../../services/public-web/public-address.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";

/** Purpose of an address: `stored` also allows objects in cloud stores, which have no host. */
export type AddressPurpose = "stored" | "served";

/** Matches addresses in Google's and Amazon's storage, which the models of both can read. */
const storeAddress = /^(?:gs|s3):\/\/[\w.-]+\/[^\s\\]*$/i;

/**
 * Matches the only form of URL in which all parsers find the same host: they differ in their treatment of backslashes,
 * white space, and text before an @.
 */
const plainAddress = /^https?:\/\/[^\s\\/?#@]+(?:[/?#][^\s\\]*)?$/i;
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u001f\u007f]/;

/**
 * Matches domain suffixes of private networks: RFC 6761, 6762 (appendix G) and 8375, ICANN's `internal`, and the
 * service names of Kubernetes, Consul and Docker.
 */
const privateEndings =
  /(?:^|\.)(?:internal|local|localhost|localdomain|lan|home|corp|intranet|private|domain|arpa|svc|consul|docker|kubernetes)$/;

/**
 * Checks an address. @returns the name that still needs a DNS lookup; undefined for an IP address, an object in a cloud
 * store, and an origin of `trusted`
 * @throws PageUnreadable for an address that leads, or could lead, into a private network
 */
export function checkPassedAddress(
  text: string,
  kind: AddressPurpose,
  trusted: ReadonlySet<string>,
): string | undefined {
  if (kind === "stored" && storeAddress.test(text)) return undefined;
  const url = parseUrl(text);
  if (url === undefined) throw new PageUnreadable("not a valid URL");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new PageUnreadable(`not an http or https URL${kind === "stored" ? ", nor one of gs:// or s3://" : ""}`);
  if (url.username !== "" || url.password !== "") throw new PageUnreadable("a URL with credentials");
  if (!plainAddress.test(text) || control.test(text)) throw new PageUnreadable("not a valid URL");
  if (trusted.has(url.origin)) return undefined;
  const host = url.hostname.replace(/^\[|\]$|\.+$/g, "");
  if (ipaddr.isValid(host)) {
    if (isPublic(host)) return undefined;
  } else if (host.includes(".") && !privateEndings.test(host)) return host;
  throw new AddressNotPublic();
}

/** An address is not public. The message is the same as for an unknown name, so private names cannot be probed. */
export class AddressNotPublic extends PageUnreadable {
  constructor() {
    super("a host that is not on the public internet");
  }
}
