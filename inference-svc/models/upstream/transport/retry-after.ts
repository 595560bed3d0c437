/** Reads a provider's hints about when to retry. */
import type { ResponseFields } from "./http/response-head.ts";

/** Maximum of a hint in milliseconds, a day: a longer one is useless, and the value must fit into 32 bits. */
const maxHintMs = 86_400_000;

/** The hint in whole milliseconds; undefined when none can be read. Of the two headers, retry-after-ms is more exact. */
export function retryAfterMs(headers: ResponseFields, nowMs = Date.now()): number | undefined {
  const precise = Number(headers.first("retry-after-ms") ?? Number.NaN);
  if (precise >= 0) return Math.min(maxHintMs, Math.ceil(precise));
  const text = headers.first("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  const seconds = Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - nowMs : seconds * 1_000;
  return Number.isNaN(waitMs) ? undefined : Math.min(maxHintMs, Math.max(0, Math.ceil(waitMs)));
}

/** Pairs of headers about a limit, as OpenAI, Groq and Anthropic name them: what is left of it, and when it is full again. */
const limits: readonly (readonly [remaining: string, reset: string])[] = [
  ["x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"],
  ["x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
  ["x-ratelimit-remaining", "x-ratelimit-reset"],
  ["anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"],
  ["anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"],
  ["anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"],
  ["anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"],
];

/** The longest wait for a limit of which nothing is left, in whole milliseconds. @returns undefined without such a limit */
export function limitResetMs(headers: ResponseFields, nowMs = Date.now()): number | undefined {
  let longest: number | undefined;
  for (const [remaining, reset] of limits) {
    if (headers.first(remaining)?.trim() !== "0") continue;
    const waitMs = untilReset(headers.first(reset) ?? "", nowMs);
    if (waitMs !== undefined) longest = Math.max(longest ?? 0, waitMs);
  }
  return longest;
}

/** Maximum characters of a time; no provider writes longer ones. */
const maxResetLength = 64;

const duration = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h))+$/;
const durationParts = /(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)/g;
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Smallest numbers that mean seconds and milliseconds since 1970; smaller ones are seconds from now. */
const [firstEpochSecond, firstEpochMs] = [1e9, 1e12];

/**
 * Milliseconds until a reset. @param reset a time of RFC 3339, a duration such as 1m12.5s, seconds from now, or seconds
 * or milliseconds since 1970
 */
export function untilReset(reset: string, nowMs: number): number | undefined {
  if (reset.length > maxResetLength) return undefined;
  const text = reset.trim();
  if (text === "") return undefined;
  const number = Number(text);
  let waitMs: number;
  if (!Number.isNaN(number))
    waitMs =
      number >= firstEpochMs ? number - nowMs : number >= firstEpochSecond ? number * 1_000 - nowMs : number * 1_000;
  else if (duration.test(text))
    waitMs = [...text.matchAll(durationParts)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * (unitMs[unit ?? ""] ?? 0),
      0,
    );
  else waitMs = Date.parse(text) - nowMs;
  return waitMs > 0 ? Math.min(maxHintMs, Math.ceil(waitMs)) : undefined;
}
