/** Lists of domains: `example.com` with all below it, `*.example.com` only what is below it, `example.com/docs` that part of it. */
import { urlIn } from "../turn/url.ts";

export interface Domains {
  /** Empty: all. */
  readonly allowed: readonly string[];
  readonly blocked: readonly string[];
}

export const anyDomain: Domains = { allowed: [], blocked: [] };

/** What is blocked counts before what is allowed. */
export const admits = ({ allowed, blocked }: Domains, url: URL): boolean =>
  !blocked.some((pattern) => matches(pattern, url)) &&
  (allowed.length === 0 || allowed.some((pattern) => matches(pattern, url)));

function matches(pattern: string, url: URL): boolean {
  const [, wildcard = "", rest = ""] = /^(?:https?:\/\/)?(\*\.)?(.*)$/is.exec(pattern) ?? [];
  // Read as a URL is, so that both are spelled alike: in small letters, Punycode, without a dot at the end.
  const wanted = urlIn(`http://${rest}`);
  if (wanted === undefined) return false;
  const [host, asked] = [hostOf(wanted), hostOf(url)];
  const isHost = asked.endsWith(`.${host}`) || (wildcard === "" && asked === host);
  const path = wanted.pathname.replace(/\/$/, "");
  return isHost && (path === "" || url.pathname === path || url.pathname.startsWith(`${path}/`));
}

const hostOf = ({ hostname }: URL): string => hostname.replace(/\.$/, "");
