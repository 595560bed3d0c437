/**
 * Domain filters for engines that filter only by host. The results are checked against the whole patterns afterwards,
 * so the engine may get fewer filters.
 */
import type { Domains } from "../../../services/public-web/domains.ts";

interface DomainLimits {
  /** Maximum number of domains in each list. */
  readonly allowed: number;
  readonly blocked: number;
  /** Set when the engine supports only one of the two lists at a time. */
  readonly onlyOne?: true;
}

/** @returns the domain filters this engine can apply; empty where it cannot apply them exactly */
export function applicableDomains(domains: Domains, limits: DomainLimits): Domains {
  const hosts = [...new Set(domains.allowed.map(hostOf))];
  // If only some of the allowed domains were sent, results of the others would be missing.
  const allowed = hosts.length <= limits.allowed ? hosts : [];
  const isOver = limits.onlyOne === true && allowed.length > 0;
  return { allowed, blocked: isOver ? [] : domains.blocked.filter(isHost).slice(0, limits.blocked) };
}

/** The host of a pattern; it may cover more pages than the pattern. */
const hostOf = (pattern: string): string =>
  pattern
    .replace(/^https?:\/\//i, "")
    .replace(/^\*\./, "")
    .replace(/\/.*$/s, "");

/** Whether a pattern is a whole host. For a part of a host, the engine would exclude the rest of it, too. */
const isHost = (pattern: string): boolean => /^[^*/:\s]+$/.test(pattern);
