/** The rate limits of a key in its row, and whether a change of them is another policy. */
import type { Updateable } from "kysely";
import type { ApiKeysTable } from "./database.ts";

/** Null: as the house is configured; what is absent stays as it is. */
export interface RateLimitSettings {
  readonly requestsPerMinute?: number | null;
  /** Input and output together. */
  readonly tokensPerMinute?: number | null;
  readonly concurrentRequests?: number | null;
}

type Columns = Pick<ApiKeysTable, "requests_per_minute" | "tokens_per_minute" | "concurrent_requests">;

export const rateLimitColumns = ({
  requestsPerMinute,
  tokensPerMinute,
  concurrentRequests,
}: RateLimitSettings): Partial<Pick<Updateable<ApiKeysTable>, keyof Columns>> => ({
  ...(requestsPerMinute !== undefined && { requests_per_minute: requestsPerMinute }),
  ...(tokensPerMinute !== undefined && { tokens_per_minute: tokensPerMinute }),
  ...(concurrentRequests !== undefined && { concurrent_requests: concurrentRequests }),
});

export const rateLimitsOf = (row: Columns) => ({
  requestsPerMinute: row.requests_per_minute,
  tokensPerMinute: row.tokens_per_minute,
  concurrentRequests: row.concurrent_requests,
});

export const sameRateLimits = (a: Columns, b: Columns): boolean =>
  a.requests_per_minute === b.requests_per_minute &&
  a.tokens_per_minute === b.tokens_per_minute &&
  a.concurrent_requests === b.concurrent_requests;
