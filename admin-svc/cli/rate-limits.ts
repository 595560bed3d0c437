/** Options for the rate limits of a key. */
import type { RateLimitSettings } from "../store/rate-limits.ts";
import { UsageError } from "./command.ts";

const names = ["requests-per-minute", "tokens-per-minute", "concurrent-requests"] as const;
const fields = ["requestsPerMinute", "tokensPerMinute", "concurrentRequests"] as const;
const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;

export const rateLimitOptions = {
  "requests-per-minute": text,
  "tokens-per-minute": text,
  "concurrent-requests": text,
} as const;

/** Give up a limit: then it is that of the house. */
export const noRateLimitOptions = {
  "no-requests-per-minute": flag,
  "no-tokens-per-minute": flag,
  "no-concurrent-requests": flag,
} as const;

/** @param no that they can be given up is said, too */
export const rateLimitUsage = (no?: "no"): string =>
  names.map((name) => (no ? `[--${name} N | --no-${name}]` : `[--${name} N]`)).join(" ");

/** What is named. @throws UsageError for what is no whole number; its range is checked with the other settings */
export function readRateLimits(values: Readonly<Record<string, unknown>>): RateLimitSettings {
  const read: Record<string, number | null> = {};
  for (const [index, name] of names.entries()) {
    const value = values[name];
    const isGivenUp = values[`no-${name}`] === true;
    if (value !== undefined && isGivenUp) throw new UsageError(`--${name} and --no-${name} exclude each other`);
    if (isGivenUp) read[fields[index] as string] = null;
    if (typeof value === "string") read[fields[index] as string] = wholeNumber(name, value);
  }
  return read;
}

function wholeNumber(name: string, value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new UsageError(`--${name}: a whole number`);
  return Number(value);
}
