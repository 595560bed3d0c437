/** A key in the form in which it is shown. */
import { KeyKind } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Key } from "@sluice/proto/gen/sluice/admin/v1/key_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import { instant } from "@sluice/proto/runtime/instant.js";

/** What it may spend and has spent, in USD. */
const accountOf = ({ limitUsd, limitReset, spending }: Key) => ({
  limit: limitUsd === undefined ? null : Number(limitUsd),
  limit_remaining: spending?.remaining === undefined ? null : Number(spending.remaining),
  limit_reset: limitReset === "" ? null : limitReset,
  include_byok_in_limit: false,
  usage: Number(spending?.total ?? 0),
  usage_daily: Number(spending?.daily ?? 0),
  usage_weekly: Number(spending?.weekly ?? 0),
  usage_monthly: Number(spending?.monthly ?? 0),
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
});

const rateLimitsOf = ({ rateLimits }: Key) => ({
  requests_per_minute: rateLimits?.requestsPerMinute ?? null,
  tokens_per_minute: rateLimits?.tokensPerMinute ?? null,
  concurrent_requests: rateLimits?.concurrentRequests ?? null,
});

export function keyJson(key: Key | undefined): JsonObject {
  if (!key?.createdAt) throw new Fault(FaultReason.INTERNAL);
  return {
    hash: key.hash,
    name: key.name,
    label: key.label,
    disabled: key.disabled,
    expires_at: key.expiresAt ? instant(key.expiresAt) : null,
    external_user: key.externalUser ?? null,
    ...accountOf(key),
    ...rateLimitsOf(key),
    creator_user_id: null,
    workspace_id: key.workspaceId,
    created_at: instant(key.createdAt),
    updated_at: key.updatedAt ? instant(key.updatedAt) : null,
  };
}

/** As its own bearer sees it. */
export function currentKeyJson(key: Key | undefined): JsonObject {
  if (!key) throw new Fault(FaultReason.INTERNAL);
  const isManagement = key.kind === KeyKind.MANAGEMENT;
  return {
    label: key.label,
    is_management_key: isManagement,
    is_provisioning_key: isManagement,
    is_free_tier: false,
    expires_at: key.expiresAt ? instant(key.expiresAt) : null,
    ...accountOf(key),
    ...rateLimitsOf(key),
    creator_user_id: null,
    organization_id: null,
    workspace_id: key.workspaceId,
    allowed_data_regions: ["global"],
    free_model_daily_requests: { limit: 0, remaining: 0, used: 0 },
    rate_limit: { requests: -1, interval: "10s", note: "Out of use: no number of requests is promised here." },
  };
}
