/** When a provider wants to be asked again. */
import type { IncomingHttpHeaders } from "node:http";
import { headerOf } from "./header.ts";

/** A hint beyond a day helps nobody, and it has to fit into 32 bits. */
const longestMs = 86_400_000;

/** Whole milliseconds; undefined without a readable hint. The header in milliseconds is the more exact one. */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs = Date.now()): number | undefined {
  const precise = Number(headerOf(headers, "retry-after-ms") ?? Number.NaN);
  if (precise >= 0) return Math.min(longestMs, Math.ceil(precise));
  const text = headerOf(headers, "retry-after")?.trim();
  if (text === undefined || text === "") return undefined;
  const seconds = Number(text);
  const waitMs = Number.isNaN(seconds) ? Date.parse(text) - nowMs : seconds * 1_000;
  return Number.isNaN(waitMs) ? undefined : Math.min(longestMs, Math.max(0, Math.ceil(waitMs)));
}
