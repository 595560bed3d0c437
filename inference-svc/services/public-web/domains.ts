/** Patterns for domains: `example.com` includes its subdomains, `*.example.com` means only its subdomains, `example.com/docs` only this path. */
import { parseUrl } from "../../turn/url.ts";

export interface Domains {
  /** Allowed patterns; an empty list allows every domain. */
  readonly allowed: readonly string[];
  readonly blocked: readonly string[];
}

export const anyDomain: Domains = { allowed: [], blocked: [] };

/** Whether a URL is allowed. Blocked patterns take precedence over allowed ones. */
export const isAllowed = ({ allowed, blocked }: Domains, url: URL): boolean =>
  !blocked.some((pattern) => matches(pattern, url)) &&
  (allowed.length === 0 || allowed.some((pattern) => matches(pattern, url)));

function matches(pattern: string, url: URL): boolean {
  const [, wildcard = "", rest = ""] = /^(?:https?:\/\/)?(\*\.)?(.*)$/is.exec(pattern) ?? [];
  // Parsing the pattern as a URL normalizes it: lower case, Punycode, no trailing dot.
  const patternUrl = parseUrl(`http://${rest}`);
  if (patternUrl === undefined) return false;
  const [host, requestedHost] = [hostOf(patternUrl), hostOf(url)];
  const isHost = requestedHost.endsWith(`.${host}`) || (wildcard === "" && requestedHost === host);
  const path = patternUrl.pathname.replace(/\/$/, "");
  return isHost && (path === "" || url.pathname === path || url.pathname.startsWith(`${path}/`));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, "");
