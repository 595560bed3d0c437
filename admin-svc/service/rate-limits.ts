/** The rate limits of a key as the contracts have them: absent where the store has null. */
import { create } from "@bufbuild/protobuf";
import { type RateLimits, RateLimitsSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RateLimitSettings } from "../store/rate-limits.ts";

export const rateLimitsMessage = (stored: Required<RateLimitSettings>): RateLimits =>
  create(RateLimitsSchema, {
    ...(stored.requestsPerMinute !== null && { requestsPerMinute: stored.requestsPerMinute }),
    ...(stored.tokensPerMinute !== null && { tokensPerMinute: stored.tokensPerMinute }),
    ...(stored.concurrentRequests !== null && { concurrentRequests: stored.concurrentRequests }),
  });

export const rateLimitSettings = (message: RateLimits | undefined): Required<RateLimitSettings> => ({
  requestsPerMinute: message?.requestsPerMinute ?? null,
  tokensPerMinute: message?.tokensPerMinute ?? null,
  concurrentRequests: message?.concurrentRequests ?? null,
});
