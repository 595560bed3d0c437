/** Usage records: queries and response bodies of their operations. */
import {
  array,
  boolean,
  constant,
  described,
  integer,
  named,
  nullable,
  number,
  object,
  string,
  word,
} from "../../lib/validation/shape.ts";
import { operationWords } from "../../lib/ledger/call-operation.ts";
import { ownWorkspace, time } from "./record-shapes.ts";
import { tagsField, tagsQuery } from "./tags.ts";
import { providerErrorFields, turnOutcomeWords } from "./generations.ts";

export const generationQuery = object(
  {
    id: described(string({ min: 1, max: 1_024, identifier: true }), "As in `X-Generation-Id`."),
    request_id: described(
      string({ min: 1, max: 512, identifier: true }),
      "As in `X-Request-Id`, in the place of `id`; the latest of several turns.",
    ),
  },
  { strict: true },
);

/** A day in the query of activity. The same rule applies over gRPC: see rules/usage-records.ts of admin-svc. */
const activityDate = string({
  pattern: { form: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, message: "must be a day, such as 2026-11-21" },
});

export const activityQuery = object(
  {
    date: described(activityDate, "A day in UTC of the last 30; all of them, today included, when absent."),
    api_key_hash: described(string({ min: 1, max: 1_024, identifier: true }), "Only what this key has used."),
    workspace_id: ownWorkspace,
    door: described(word("responses", "chat", "messages", "embeddings"), "Only what clients of this format have used."),
    tags: tagsQuery,
    group_by: described(
      word("operation", "door", "task"),
      "`operation` sums each operation apart, `door` each format in which clients spoke, `task` each kind of task.",
    ),
  },
  { strict: true },
);

const tokens = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const dollars = number({ min: 0 });
const endpointIdWords = "The endpoint: `provider/model[:tier]`, the tier left out where it is the default one.";
const absent = (what: string) => described(constant(null), `Always null: ${what} not recorded.`);

const operation = word(...operationWords);

const call = object(
  {
    provider_name: described(string(), "Id of the provider."),
    status: described(nullable(integer({ min: 0 })), "200, or what the failure would be answered with."),
    latency: described(nullable(number({ min: 0 })), "Milliseconds from its beginning to its end."),
    model_permaslug: described(string(), "Slug of the model."),
    endpoint_id: described(string(), endpointIdWords),
    is_byok: described(constant(false), "There are no keys of your own."),
    operation: described(operation, "What the call was made for; `turn` answers the request."),
    total_cost: described(nullable(dollars), "USD; null where no price is known."),
    started_after: described(tokens, "Milliseconds from the beginning of the turn to the beginning of the call."),
    first_event: described(
      nullable(tokens),
      "Milliseconds from the beginning of the call to the first event of the provider; null without one.",
    ),
    tokens_prompt: described(nullable(tokens), "Tokens of the prompt, cached ones among them; null when unknown."),
    tokens_cached: described(nullable(tokens), "Tokens that came out of the provider's cache."),
    tokens_cache_write: described(nullable(tokens), "Tokens that were written to the provider's cache."),
    tokens_completion: described(nullable(tokens), "Tokens of the answer, reasoning among them."),
    tokens_reasoning: described(nullable(tokens), "Tokens of reasoning."),
  },
  {
    required: [
      "provider_name",
      "status",
      "latency",
      "model_permaslug",
      "endpoint_id",
      "is_byok",
      "operation",
      "total_cost",
      "started_after",
      "first_event",
      "tokens_prompt",
      "tokens_cached",
      "tokens_cache_write",
      "tokens_completion",
      "tokens_reasoning",
    ],
    description: "One call to a provider.",
  },
);

const generation = {
  id: described(string({ min: 1 }), "As in `X-Generation-Id`."),
  request_id: described(nullable(string()), "As in `X-Request-Id`."),
  created_at: described(time, "When the first call was begun."),
  key_hash: described(string(), "Hash of the key."),
  key_name: described(nullable(string()), "Name of the key; null when the key is gone."),
  model: described(string(), "Slug of the model that answered, or was asked last; else the one that was asked for."),
  requested_model: described(nullable(string()), "Slug of the model that was asked for; null when unknown."),
  outcome: described(
    word(...turnOutcomeWords),
    "`refused`: failed before any call; `failed`: after one; `cancelled`: the client left; `lost`: its process died.",
  ),
  status: described(integer({ min: 0 }), "HTTP status of the answer; 499 where the client left."),
  error_type: described(nullable(string()), "`error_type` of the failure."),
  ...providerErrorFields,
  guardrail_id: described(nullable(string()), "The guardrail that blocked the turn, or else found something last."),
  rule: described(
    nullable(string()),
    "Label of the rule that matched, or its pattern or engine. Never text of a prompt.",
  ),
  trace_id: described(nullable(string()), "Id of the trace, where tracing is on."),
  operation: described(operation, "What the turn was: `turn` or `embed`."),
  attempts: described(tokens, "Calls to providers and services that the key pays for."),
  provider_name: described(nullable(string()), "Id of the provider that answered, or was asked last."),
  streamed: described(nullable(boolean), "Whether a stream was asked for."),
  cancelled: described(nullable(boolean), "Whether the client left."),
  finish_reason: described(
    nullable(string()),
    "stop, tool_calls, length or content_filter; null where the answer did not come to its end.",
  ),
  door: described(string(), "Format in which the client spoke: responses, chat, messages or embeddings."),
  native_finish_reason: absent("the providers' own words are"),
  tokens_prompt: described(nullable(tokens), "Tokens of the prompt; null where nothing is known."),
  tokens_completion: described(nullable(tokens), "Tokens of the answer, reasoning among them."),
  native_tokens_prompt: described(nullable(tokens), "The same: tokens are counted as the provider does."),
  native_tokens_completion: described(nullable(tokens), "The same."),
  native_tokens_reasoning: described(nullable(tokens), "Tokens of reasoning."),
  native_tokens_cached: described(nullable(tokens), "Tokens of the prompt that came out of the provider's cache."),
  native_tokens_completion_images: absent("images are"),
  usage: described(dollars, "USD of all calls of the turn."),
  total_cost: described(dollars, "The same."),
  upstream_inference_cost: described(nullable(dollars), "The same; null where no price is known."),
  cache_discount: absent("discounts are"),
  generation_time: described(nullable(number({ min: 0 })), "Milliseconds from the beginning of the turn to its end."),
  latency: described(
    nullable(number({ min: 0 })),
    "Milliseconds until the first event was given out; null without one.",
  ),
  moderation_latency: absent("moderation is"),
  is_byok: described(constant(false), "There are no keys of your own."),
  is_estimated: described(boolean, "Whether tokens were estimated, because the provider gave none."),
  external_user: described(nullable(string()), "The end user that the request named."),
  session_id: described(nullable(string()), "The session that the request named."),
  tags: tagsField,
  service_tier: described(nullable(string()), "The tier that served."),
  workspace_id: described(nullable(string()), "The workspace of the key."),
  content_expires_at: described(
    nullable(time),
    "Until when prompt and answer are stored, for `GET /generation/content`; null when they are not.",
  ),
  provider_responses: described(nullable(array(call)), "Every call to a provider, in order."),
  api_type: described(nullable(string()), "`completions`."),
  data_region: described(string(), "`global`."),
  origin: described(string(), "Empty: origins are not recorded."),
  app_id: absent("applications are"),
  http_referer: absent("origins are"),
  user_agent: absent("user agents are"),
  num_fetches: absent("fetches are"),
  num_input_audio_prompt: absent("media are"),
  num_media_completion: absent("media are"),
  num_media_prompt: absent("media are"),
  num_search_results: absent("searches are"),
  preset_id: absent("presets are"),
  response_cache_source_id: absent("caches are"),
  router: absent("routers are"),
  upstream_id: absent("ids of providers are"),
  web_search_engine: absent("searches are"),
};

export const generationAnswer = named(
  "GenerationAnswer",
  object(
    {
      data: named(
        "Generation",
        object(generation, { required: Object.keys(generation), description: "What a turn took." }),
      ),
    },
    { required: ["data"] },
  ),
);

const capturedText = (whose: string) =>
  object(
    {
      text: described(string(), `${whose}, byte for byte, up to the limit of the configuration file.`),
      bytes: described(tokens, "Length of the whole of it."),
      is_truncated: described(boolean, "Whether its end was cut off."),
    },
    { required: ["text", "bytes", "is_truncated"] },
  );

const content = {
  id: generation.id,
  request_id: generation.request_id,
  key_hash: generation.key_hash,
  created_at: described(time, "When the request began."),
  expires_at: described(time, "When the content is deleted."),
  external_user: generation.external_user,
  request: capturedText("Body of the request as it was received, before guardrails"),
  answer: described(
    nullable(capturedText("The answer as it was sent: an object, or the text of a stream")),
    "Null where the client got no answer but an error.",
  ),
};

export const contentAnswer = named(
  "GenerationContentAnswer",
  object(
    {
      data: named(
        "GenerationContent",
        object(content, { required: Object.keys(content), description: "What was asked and answered." }),
      ),
    },
    { required: ["data"] },
  ),
);

const activity = {
  date: described(string(), "Day in UTC, such as 2026-11-21."),
  model: described(string(), "Slug of the model."),
  model_permaslug: described(string(), "The same."),
  endpoint_id: described(string(), endpointIdWords),
  provider_name: described(string(), "Id of the provider."),
  usage: described(dollars, "USD."),
  byok_usage_inference: described(constant(0), "Always 0: there are no keys of your own."),
  requests: described(tokens, "Requests, each counted once, at the endpoint that was called last for it."),
  attempts: described(tokens, "Calls to the provider, failed ones among them."),
  prompt_tokens: described(tokens, "Tokens of prompts."),
  completion_tokens: described(tokens, "Tokens of answers, reasoning among them."),
  reasoning_tokens: described(tokens, "Tokens of reasoning."),
  operation: described(operation, "What the calls were made for; absent without `group_by=operation`."),
  door: described(string(), "Format in which the clients spoke; absent without `group_by=door`."),
  task: described(
    string(),
    "Kind of task, such as `code`; absent where none was recorded (`auto_router.learning_share`), and without `group_by=task`.",
  ),
};

export const activityAnswer = named(
  "ActivityAnswer",
  object(
    {
      data: array(
        named(
          "Activity",
          object(activity, {
            required: Object.keys(activity).filter((name) => !["operation", "door", "task"].includes(name)),
            description: "The calls of one day, model, provider and tier.",
          }),
        ),
      ),
    },
    { required: ["data"] },
  ),
);

/**
 * Value of `total_credits` for a workspace without a budget, in USD. It is a number because clients subtract from it,
 * and some do not accept null.
 */
export const unlimitedCredits = 1_000_000_000;

export const creditsAnswer = named(
  "CreditsAnswer",
  object(
    {
      data: object(
        {
          total_credits: described(
            dollars,
            `Budget of the workspace in USD; ${unlimitedCredits} when it has none, as \`unlimited\` says.`,
          ),
          total_usage: described(dollars, "USD spent since the budget began anew, or at all when it never does."),
          unlimited: described(boolean, "Whether the workspace may spend any amount."),
        },
        { required: ["total_credits", "total_usage", "unlimited"] },
      ),
    },
    { required: ["data"] },
  ),
);
