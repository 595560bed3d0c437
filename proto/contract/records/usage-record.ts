/** Converts usage records to their JSON in answers. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { TurnOutcome, type UsageRecord } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";
import type {
  Activity,
  GetCreditsResponse,
  GetGenerationContentResponse,
  GetGenerationResponse,
} from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { toOperationWord, purposeOfRecord } from "../../lib/ledger/call-operation.ts";
import { endpointId } from "../../lib/ids/endpoint-id.ts";
import { Fault, FaultReason } from "../../lib/faults/fault.ts";
import { toDecimal, parsePico } from "../../lib/ledger/money.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { toTurnEndJson } from "./generations.ts";
import { toTagsJson } from "./tags.ts";
import { unlimitedCredits } from "./usage.ts";
import { instant } from "../../lib/time/instant.ts";

/** Fields that clients of similar public interfaces expect but Sluice does not record. */
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

/** Converts a turn with its calls. @param records of the turn's calls, in their order; none for a refused turn */
export function toGenerationJson({
  records,
  generation: turn,
  contentExpiresAtMs: expiry,
}: GetGenerationResponse): JsonObject {
  if (!turn) throw new Fault(FaultReason.INTERNAL);
  const last = records.at(-1);
  const cost = costOf(records);
  const orNull = (text: string) => (text === "" ? null : text);
  return {
    id: turn.id,
    request_id: orNull(turn.requestId),
    created_at: instant(timestampFromMs(Number(turn.openedAtMs))),
    key_hash: turn.keyHash,
    key_name: orNull(turn.keyName),
    model: turn.model,
    requested_model: orNull(turn.requestedModel),
    provider_name: orNull(turn.provider),
    streamed: turn.streamed,
    cancelled: turn.outcome === TurnOutcome.CANCELLED,
    ...toTurnEndJson(turn),
    trace_id: orNull(turn.traceId),
    operation: toOperationWord(turn.operation) ?? "turn",
    attempts: turn.attempts,
    ...tokensJson(last),
    usage: cost ?? 0,
    total_cost: cost ?? 0,
    upstream_inference_cost: cost,
    generation_time: Number(turn.durationMs),
    latency: turn.firstMs === undefined ? null : Number(turn.firstMs),
    is_byok: false,
    is_estimated: turn.isEstimated,
    external_user: orNull(turn.user),
    session_id: orNull(turn.sessionId),
    tags: toTagsJson(turn.tags),
    door: turn.door,
    service_tier: orNull(turn.serviceTier),
    workspace_id: turn.workspaceId,
    content_expires_at: expiry === undefined ? null : instant(timestampFromMs(Number(expiry))),
    provider_responses: records.map((record) => callJson(record, turn.openedAtMs)),
    api_type: "completions",
    data_region: "global",
    origin: "",
    ...unrecorded,
  };
}

/** Converts the captured content of a turn. */
export function toContentJson({ content: turn, expiresAtMs }: GetGenerationContentResponse): JsonObject {
  if (!turn?.content) throw new Fault(FaultReason.INTERNAL);
  const { request, requestBytes, answer, answerBytes } = turn.content;
  return {
    id: turn.generationId,
    request_id: turn.requestId,
    key_hash: turn.keyHash,
    created_at: instant(timestampFromMs(Number(turn.openedAtMs))),
    expires_at: instant(timestampFromMs(Number(expiresAtMs))),
    external_user: turn.user ?? null,
    request: shownText(request, Number(requestBytes)),
    answer: answerBytes === 0n ? null : shownText(answer, Number(answerBytes)),
  };
}

/** Decodes kept bytes as text; a character that the limit has cut in two is left out. */
const shownText = (kept: Uint8Array, bytes: number): JsonObject => ({
  text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept, { stream: true }),
  bytes,
  is_truncated: kept.length < bytes,
});

function tokensJson(last: UsageRecord | undefined): JsonObject {
  const tokens = last?.tokens;
  return {
    tokens_prompt: tokens?.input ?? null,
    tokens_completion: tokens?.output ?? null,
    native_tokens_prompt: tokens?.input ?? null,
    native_tokens_completion: tokens?.output ?? null,
    native_tokens_reasoning: tokens?.reasoning ?? null,
    native_tokens_cached: tokens?.cached ?? null,
  };
}

/** Cost of the calls in USD; null when no call has a price. */
function costOf(records: readonly UsageRecord[]): number | null {
  const costs = records.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [parsePico(costUsd)]));
  return costs.length === 0 ? null : Number(toDecimal(costs.reduce((sum, cost) => sum + cost)));
}

/** Converts a call. @param begin start of the turn in milliseconds since 1970 */
const callJson = (record: UsageRecord, begin: bigint): JsonObject => ({
  provider_name: record.provider,
  status: record.httpStatus,
  latency: record.durationMs,
  model_permaslug: record.model,
  endpoint_id: endpointId(record),
  is_byok: false,
  operation: purposeOfRecord(record).operation,
  total_cost: record.costUsd === undefined ? null : Number(record.costUsd),
  started_after: Math.max(0, Number(record.openedAtMs - begin)),
  first_event: record.firstMs ?? null,
  tokens_prompt: record.tokens?.input ?? null,
  tokens_cached: record.tokens?.cached ?? null,
  tokens_cache_write: record.tokens?.cacheWrite ?? null,
  tokens_completion: record.tokens?.output ?? null,
  tokens_reasoning: record.tokens?.reasoning ?? null,
});

/** Converts the budget of a workspace and its spending. */
export const toCreditsJson = ({ totalUsd, usedUsd }: GetCreditsResponse): JsonObject => ({
  total_credits: totalUsd === undefined ? unlimitedCredits : Number(totalUsd),
  total_usage: Number(usedUsd),
  unlimited: totalUsd === undefined,
});

function operationJson({ operation: number }: Activity): JsonObject {
  const operation = toOperationWord(number);
  return operation === undefined ? {} : { operation };
}

export const toActivityJson = (activity: Activity): JsonObject => ({
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
