/** Converts usage records to the JSON of answers. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AttemptStatus, type UsageRecord } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";
import type { Activity, GetCreditsResponse } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { operationWord, purposeOfRecord } from "../../runtime/call-operation.ts";
import { endpointId } from "../../runtime/endpoint-id.ts";
import { Fault, FaultReason } from "../../runtime/fault.ts";
import { decimal, pico } from "../../runtime/money.ts";
import type { JsonObject } from "../../runtime/validation/fields.ts";
import { unlimitedCredits } from "./usage.ts";
import { instant } from "../../runtime/instant.ts";

/** Fields that clients of public interfaces look for, and that Sluice does not record. */
const unrecorded = {
  native_finish_reason: null,
  native_tokens_completion_images: null,
  cache_discount: null,
  moderation_latency: null,
  app_id: null,
  http_referer: null,
  user_agent: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_completion: null,
  num_media_prompt: null,
  num_search_results: null,
  preset_id: null,
  response_cache_source_id: null,
  router: null,
  upstream_id: null,
  web_search_engine: null,
};

/** @param records of one turn, in their order */
export function shownGeneration(records: readonly UsageRecord[]): JsonObject {
  const first = records[0];
  const last = records.at(-1);
  if (!first || !last) throw new Fault(FaultReason.INTERNAL);
  const cost = costOf(records);
  return {
    id: last.generationId,
    request_id: last.requestId,
    created_at: instant(timestampFromMs(Number(first.openedAtMs))),
    model: last.model,
    provider_name: last.provider,
    streamed: last.streamed,
    cancelled: last.status === AttemptStatus.CANCELLED,
    ...tokensJson(last),
    usage: cost ?? 0,
    total_cost: cost ?? 0,
    upstream_inference_cost: cost,
    generation_time: last.durationMs,
    latency: last.firstMs === undefined ? null : Number(last.openedAtMs - first.openedAtMs) + last.firstMs,
    finish_reason: last.finishReason ?? null,
    is_byok: false,
    is_estimated: records.some(({ isEstimated }) => isEstimated),
    external_user: last.user ?? null,
    session_id: last.sessionId ?? null,
    door: last.door ?? "responses",
    service_tier: last.serviceTier === "" ? null : last.serviceTier,
    workspace_id: last.workspaceId,
    provider_responses: records.map(callJson),
    api_type: "completions",
    data_region: "global",
    origin: "",
    ...unrecorded,
  };
}

function tokensJson({ tokens }: UsageRecord): JsonObject {
  return {
    tokens_prompt: tokens?.input ?? null,
    tokens_completion: tokens?.output ?? null,
    native_tokens_prompt: tokens?.input ?? null,
    native_tokens_completion: tokens?.output ?? null,
    native_tokens_reasoning: tokens?.reasoning ?? null,
    native_tokens_cached: tokens?.cached ?? null,
  };
}

/** USD; null when no call has a price. */
function costOf(records: readonly UsageRecord[]): number | null {
  const costs = records.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [pico(costUsd)]));
  return costs.length === 0 ? null : Number(decimal(costs.reduce((sum, cost) => sum + cost)));
}

const callJson = (record: UsageRecord): JsonObject => ({
  provider_name: record.provider,
  status: record.httpStatus,
  latency: record.durationMs,
  model_permaslug: record.model,
  endpoint_id: endpointId(record),
  is_byok: false,
  operation: purposeOfRecord(record).operation,
  total_cost: record.costUsd === undefined ? null : Number(record.costUsd),
});

/** The budget of a workspace and what it has spent. */
export const shownCredits = ({ totalUsd, usedUsd }: GetCreditsResponse): JsonObject => ({
  total_credits: totalUsd === undefined ? unlimitedCredits : Number(totalUsd),
  total_usage: Number(usedUsd),
  unlimited: totalUsd === undefined,
});

function operationJson({ operation: number }: Activity): JsonObject {
  const operation = operationWord(number);
  return operation === undefined ? {} : { operation };
}

export const shownActivity = (activity: Activity): JsonObject => ({
  date: activity.date,
  model: activity.model,
  model_permaslug: activity.model,
  endpoint_id: endpointId(activity),
  provider_name: activity.provider,
  usage: Number(activity.costUsd),
  byok_usage_inference: 0,
  requests: Number(activity.requests),
  attempts: Number(activity.calls),
  prompt_tokens: Number(activity.inputTokens),
  completion_tokens: Number(activity.outputTokens),
  reasoning_tokens: Number(activity.reasoningTokens),
  ...operationJson(activity),
  ...(activity.door !== "" && { door: activity.door }),
  ...(activity.task !== undefined && { task: activity.task }),
});
