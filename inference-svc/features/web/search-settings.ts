/** Settings of web search tools: `service:web_search` has them in `parameters`, `web_search` in the entry itself and in its filters. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Domains } from "../../services/public-web/domains.ts";
import type { SearchLocation, SearchOptions } from "./search-options.ts";

const standardResults = 5;
const standardTotal = 50;
/** UTF-16 units of a result by the value of `search_context_size`. */
const contextSizes: Readonly<Record<string, number>> = { low: 5_000, medium: 15_000, high: 30_000 };

export interface WebSearchSettings {
  /** Engine that searches: auto, native, or the name of an engine. */
  readonly engine: string;
  readonly maxResults: number;
  readonly maxTotal: number;
  readonly maxUses: number;
  /** Maximum UTF-16 units of a result. */
  readonly maxCharacters: number;
  readonly domains: Domains;
  readonly wishes: SearchOptions;
}

const keptHere: ReadonlySet<string> = new Set([
  "type",
  "engine",
  "max_results",
  "max_total_results",
  "max_uses",
  "max_characters",
  "search_context_size",
  "allowed_domains",
  "excluded_domains",
  "filters",
  "user_location",
  "mode",
  "external_web_access",
]);

/** @param given settings as the client wrote them, already checked */
export function readSearchSettings(given: JsonObject): WebSearchSettings {
  const { search_context_size: size, max_characters: characters } = given;
  const filters = isObject(given["filters"]) ? given["filters"] : given;
  return {
    engine: wordIn(given["engine"]) ?? "auto",
    maxResults: numberIn(given["max_results"]) ?? standardResults,
    maxTotal: numberIn(given["max_total_results"]) ?? standardTotal,
    maxUses: numberIn(given["max_uses"]) ?? Number.POSITIVE_INFINITY,
    maxCharacters: numberIn(characters) ?? (contextSizes[wordIn(size) ?? "medium"] as number),
    domains: {
      allowed: wordsIn(filters["allowed_domains"]),
      blocked: [...wordsIn(filters["blocked_domains"]), ...wordsIn(filters["excluded_domains"])],
    },
    wishes: wishesOf(given),
  };
}

function wishesOf(given: JsonObject): SearchOptions {
  const { user_location: location, mode, external_web_access: live } = given;
  const { city, region, country, timezone } = isObject(location) ? location : {};
  const named = Object.entries({ city, region, country, timezone }).filter(([, value]) => wordIn(value) !== undefined);
  const others = Object.keys(given).filter((name) => !keptHere.has(name) && given[name] !== null);
  return {
    ...(named.length > 0 && { place: Object.fromEntries(named) as SearchLocation }),
    ...(wordIn(mode) !== undefined && { mode: wordIn(mode) as string }),
    ...(live === false && { cachedOnly: true as const }),
    ...(others.length > 0 && { others }),
  };
}

const wordIn = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);
const numberIn = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const wordsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((word: unknown) => typeof word === "string") : [];
