/** Domain filters as operators in a query: many engines support `site:` and `-site:`. */
import type { Search } from "../search-engine.ts";

const unlimited = { length: Number.POSITIVE_INFINITY, words: Number.POSITIVE_INFINITY };

/**
 * @param most maximum characters of the query with its operators; a longer one loses them, since results are checked
 * against the domains anyway
 */
export function withSites({ query, domains: { allowed, blocked } }: Search, most = unlimited): string {
  const site = (pattern: string) => pattern.replace(/^https?:\/\//i, "").replace(/^\*\./, "");
  const only = allowed.map((pattern) => `site:${site(pattern)}`).join(" OR ");
  const words = [query, only, ...blocked.map((pattern) => `-site:${site(pattern)}`)];
  const whole = words.filter((word) => word !== "").join(" ");
  return whole.length > most.length || whole.split(/\s+/).length > most.words ? query : whole;
}
