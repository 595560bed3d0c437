/** Domain filters for engines that support only hosts. The results are checked against the whole patterns, so an engine may get fewer filters. */
import type { Domains } from "../../../services/public-web/domains.ts";

interface DomainLimits {
  /** Maximum length of each list. */
  readonly allowed: number;
  readonly blocked: number;
  /** The engine supports only one of the lists at a time. */
  readonly onlyOne?: true;
}

/** @returns the domain filters this engine can apply; empty where it cannot apply them exactly */
export function applicableDomains(domains: Domains, limits: DomainLimits): Domains {
  const hosts = [...new Set(domains.allowed.map(hostOf))];
  // Some of the allowed domains would hide results of the others.
  const allowed = hosts.length <= limits.allowed ? hosts : [];
  const isOver = limits.onlyOne === true && allowed.length > 0;
  return { allowed, blocked: isOver ? [] : domains.blocked.filter(isHost).slice(0, limits.blocked) };
}

/** The host of a pattern, which may cover more pages than the pattern. */
const hostOf = (pattern: string): string =>
  pattern
    .replace(/^https?:\/\//i, "")
    .replace(/^\*\./, "")
    .replace(/\/.*$/s, "");

/** False for a part of a host: the engine would exclude the rest of it, too. */
const isHost = (pattern: string): boolean => /^[^*/:\s]+$/.test(pattern);
