/** Reads the provider's hint when to retry. */
import type { ResponseFields } from "./http/response-head.ts";

/** A day; a longer hint is useless, and the value must fit into 32 bits. */
const maxHintMs = 86_400_000;

/** Whole milliseconds; undefined without a readable hint. retry-after-ms is the more exact of the two headers. */
export function retryAfterMs(headers: ResponseFields, nowMs = Date.now()): number | undefined {
  const precise = Number(headers.first("retry-after-ms") ?? Number.NaN);
  if (precise >= 0) return Math.min(maxHintMs, Math.ceil(precise));
  const text = headers.first("retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  const seconds = Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - nowMs : seconds * 1_000;
  return Number.isNaN(waitMs) ? undefined : Math.min(maxHintMs, Math.max(0, Math.ceil(waitMs)));
}
