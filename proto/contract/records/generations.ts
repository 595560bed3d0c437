/** Lists of turns: the query, the answer, and the conversion of a message to JSON. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { TurnOutcome } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";
import type { Generation } from "../../gen/sluice/admin/v1/usage_service_pb.ts";
import { toOperationWord, operationWords } from "../../lib/ledger/call-operation.ts";
import { endpointId } from "../../lib/ids/endpoint-id.ts";
import { instant } from "../../lib/time/instant.ts";
import type { JsonObject } from "../../lib/validation/fields.ts";
import { providerErrorMeaning } from "../response/provider-error.ts";
import {
  array,
  boolean,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { tagsField, tagsQuery, toTagsJson } from "./tags.ts";
import { nextCursor, pageCursor, requestTime, time } from "./record-shapes.ts";

export const turnOutcomes = {
  completed: TurnOutcome.COMPLETED,
  incomplete: TurnOutcome.INCOMPLETE,
  failed: TurnOutcome.FAILED,
  cancelled: TurnOutcome.CANCELLED,
  lost: TurnOutcome.LOST,
  refused: TurnOutcome.REFUSED,
} as const;
export type TurnOutcomeWord = keyof typeof turnOutcomes;

export const turnOutcomeWords = Object.keys(turnOutcomes) as readonly TurnOutcomeWord[];
const wordsByNumber: ReadonlyMap<TurnOutcome, TurnOutcomeWord> = new Map(
  turnOutcomeWords.map((name) => [turnOutcomes[name], name]),
);

/** The word for an outcome; undefined for an outcome of a newer build. */
export const toTurnOutcomeWord = (outcome: TurnOutcome): TurnOutcomeWord | undefined => wordsByNumber.get(outcome);

export const turnDoors = ["responses", "chat", "messages", "embeddings", "other"] as const;
const door = word(...turnDoors);
const operation = word(...operationWords);
const outcome = word(...turnOutcomeWords);
const text = string({ min: 1, max: 512, identifier: true });

export const defaultGenerations = 50;

/** An HTTP status such as 502, or a class of statuses such as 5xx. */
export const statusOrClass = string({
  pattern: { form: /^[1-5](?:\d\d|xx)$/, message: "must be a status such as 502, or a class such as 5xx" },
});

/** Query of the list. The same rules apply over gRPC: see store/ledger/turn-pages.ts of admin-svc. */
export const generationsQuery = object(
  {
    cursor: pageCursor,
    limit: described(integer({ min: 1, max: 200 }), `How many to list at most; ${defaultGenerations} when absent.`),
    from: described(requestTime, "Turns that began then or later."),
    to: described(requestTime, "Turns that began earlier."),
    key: described(text, "Turns of this key, by its hash."),
    model: described(text, "Turns of this model: the one that was called last, or else the one that was asked for."),
    provider: described(text, "Turns of this provider, by its id: the one that was called last."),
    status: described(
      statusOrClass,
      "Turns with this HTTP status, such as `502`, or with one of a class, such as `5xx`; 499 where the client left.",
    ),
    outcome: described(outcome, "Turns that ended so."),
    user: described(text, "Turns of this end user."),
    session_id: described(text, "Turns of this session."),
    request_id: described(text, "Turns of this request, as in `X-Request-Id`."),
    door: described(door, "Turns that were asked for in this format."),
    operation: described(operation, "Turns of this kind: `turn` or `embed`."),
    guardrail_id: described(text, "Turns that this guardrail blocked, or in which it found something last."),
    error: described(text, "Turns that failed so: an `error_type` or a `provider_error`."),
    fallback_from: described(text, "Turns that made another call after a call to this provider had failed."),
    task: described(text, "Turns of this kind of task, where routers learn from it."),
    tags: tagsQuery,
    q: described(
      string({ min: 1, max: 200, identifier: true }),
      "Turns with this text in the name of their key, their model, provider, end user, session or error, in any case; or with an id that begins so: that of the turn (`gen-…`), of the request or of the trace.",
    ),
  },
  { strict: true },
);

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const milliseconds = nullable(number({ min: 0 }));
/** A cost as text, because a large sum would be rounded as a number. */
export const exactDollarsShape = described(
  string({ pattern: { form: /^\d+(\.\d+)?$/, message: "must be a decimal" } }),
  "USD, exact to the picodollar.",
);

export const turnFigures = {
  cost_usd: exactDollarsShape,
  input_tokens: described(count, "Tokens of prompts, cached ones among them."),
  cached_tokens: described(count, "Tokens that came out of providers' caches."),
  output_tokens: described(count, "Tokens of answers, reasoning among them."),
  reasoning_tokens: described(count, "Tokens of reasoning."),
};

/** Fields about the provider's error in a failed turn. */
export const providerErrorFields = {
  provider_error: described(nullable(string()), providerErrorMeaning),
  provider_code: described(nullable(string({ max: 64 })), "The provider's own code of that failure."),
};

const turn = {
  id: described(string({ min: 1 }), "As in `X-Generation-Id`."),
  request_id: described(nullable(string()), "As in `X-Request-Id`; null in a row that counts several turns."),
  created_at: described(time, "When it began."),
  key_hash: described(string(), "Hash of the key."),
  key_name: described(nullable(string()), "Name of the key; null when the key is gone."),
  model: described(nullable(string()), "The model that was called last, or else the one that was asked for."),
  requested_model: described(nullable(string()), "The model that was asked for; null when unknown."),
  provider: described(nullable(string()), "Id of the provider that was called last; null without a call."),
  endpoint_id: described(
    nullable(string()),
    "The endpoint that was called last: `provider/model[:tier]`, the tier left out where it is the default one.",
  ),
  door: described(door, "Format in which the client spoke."),
  operation: described(operation, "What it was: `turn` or `embed`."),
  task: described(nullable(string()), "Kind of task, where routers learn from it."),
  stream: described(boolean, "Whether a stream was asked for."),
  outcome: described(
    outcome,
    "`refused`: failed before any call; `failed`: after one; `cancelled`: the client left; `lost`: its process died.",
  ),
  status: described(integer({ min: 0, max: 999 }), "HTTP status; 499 where the client left."),
  error_type: described(nullable(string()), "`error_type` of the failure."),
  ...providerErrorFields,
  guardrail_id: described(nullable(string()), "The guardrail that blocked it, or else found something last."),
  rule: described(
    nullable(string()),
    "Label of the rule that matched, or its pattern or engine. Never text of a prompt.",
  ),
  finish_reason: described(nullable(string()), "stop, tool_calls, length or content_filter."),
  user: described(nullable(string()), "The end user that the request named."),
  session_id: described(nullable(string()), "The session that the request named."),
  trace_id: described(nullable(string()), "Id of the trace, where tracing is on."),
  tags: tagsField,
  requests: described(
    integer({ min: 1 }),
    "1, or the number of refused turns that this row counts: beyond a rate they are counted.",
  ),
  attempts: described(count, "Calls to providers and services that the key pays for."),
  ...turnFigures,
  is_estimated: described(boolean, "Whether tokens were estimated, because a provider gave none."),
  first_token_ms: described(milliseconds, "Milliseconds until the first event was given out."),
  duration_ms: described(number({ min: 0 }), "Milliseconds until the end."),
};

export const generationList = named(
  "GenerationList",
  object(
    {
      data: array(
        named(
          "ListedGeneration",
          object(turn, { required: Object.keys(turn), description: "A turn, refused or not." }),
        ),
      ),
      next_cursor: nextCursor,
    },
    { required: ["data", "next_cursor"] },
  ),
);

const orNull = (given: string): string | null => (given === "" ? null : given);

export function toTurnJson(generation: Generation): JsonObject {
  const { provider, model, serviceTier } = generation;
  return {
    id: generation.id,
    request_id: orNull(generation.requestId),
    created_at: instant(timestampFromMs(Number(generation.openedAtMs))),
    key_hash: generation.keyHash,
    key_name: orNull(generation.keyName),
    model: orNull(model),
    requested_model: orNull(generation.requestedModel),
    provider: orNull(provider),
    endpoint_id: provider === "" ? null : endpointId({ provider, model, serviceTier }),
    door: generation.door,
    operation: toOperationWord(generation.operation) ?? "turn",
    task: orNull(generation.task),
    stream: generation.streamed,
    ...toTurnEndJson(generation),
    user: orNull(generation.user),
    session_id: orNull(generation.sessionId),
    trace_id: orNull(generation.traceId),
    tags: toTagsJson(generation.tags),
    requests: generation.requests,
    attempts: generation.attempts,
    ...toTurnFiguresJson(generation),
    is_estimated: generation.isEstimated,
    first_token_ms: generation.firstMs === undefined ? null : Number(generation.firstMs),
    duration_ms: Number(generation.durationMs),
  };
}

/** Converts the outcome of a turn to JSON. */
export const toTurnEndJson = (generation: Generation): JsonObject => ({
  outcome: toTurnOutcomeWord(generation.outcome) ?? "failed",
  status: generation.httpStatus,
  error_type: orNull(generation.errorType),
  provider_error: orNull(generation.providerError),
  provider_code: orNull(generation.providerCode),
  guardrail_id: orNull(generation.guardrailId),
  rule: orNull(generation.rule),
  finish_reason: orNull(generation.finishReason),
});

export const toTurnFiguresJson = (
  sums: Pick<Generation, "costUsd" | "inputTokens" | "cachedTokens" | "outputTokens" | "reasoningTokens">,
): JsonObject => ({
  cost_usd: sums.costUsd,
  input_tokens: Number(sums.inputTokens),
  cached_tokens: Number(sums.cachedTokens),
  output_tokens: Number(sums.outputTokens),
  reasoning_tokens: Number(sums.reasoningTokens),
});
