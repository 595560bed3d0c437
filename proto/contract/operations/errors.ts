/** Error bodies: all statuses have the same form, with metadata that depends on the error. */
import { Fault, FaultReason } from "../../lib/faults/fault.ts";
import { maxTokensPerDay } from "../../lib/limits/settings.ts";
import {
  type Accepted,
  type Shape,
  anyValue,
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
import { outputItem } from "../items/output.ts";
import { unansweredKind } from "../response/provider-error.ts";
import { exclusions, serviceMetadataShape } from "../response/service-metadata.ts";

/** Every failure as clients see it, by its reason. */
const faults = Object.values(FaultReason)
  .filter((reason): reason is FaultReason => typeof reason === "number" && reason !== FaultReason.UNSPECIFIED)
  .map((reason) => new Fault(reason));

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];

export const errorStatuses: readonly number[] = distinct(faults.map(({ status }) => status)).sort((a, b) => a - b);

/**
 * OpenAI's `error.type` for a status, by which SDKs distinguish failures. Undefined for 401, whose body contains only
 * code and message.
 */
export function openAiTypeOf(status: number): string | undefined {
  if (status === 401) return undefined;
  const known: Readonly<Record<number, string>> = {
    402: "insufficient_quota",
    403: "permission_error",
    408: "server_error",
    429: "rate_limit_error",
  };
  return known[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
}

/** Members of `error` in an error body; members without a value are absent from its JSON. */
export function errorMembers({ status, message, metadata }: Pick<Fault, "status" | "message" | "metadata">): object {
  const param = typeof metadata?.["param"] === "string" ? metadata["param"] : undefined;
  return { code: status, message, type: openAiTypeOf(status), param, metadata };
}

export const errorType = named(
  "ErrorType",
  described(word(...distinct(faults.map((fault) => fault.errorType)).sort()), "What kind of failure it is."),
);

const issue = object(
  {
    path: described(string(), "Field of the request, such as `input.0.content.1.image_url`."),
    message: described(string(), "What is wrong with it, naming the limit."),
  },
  { required: ["path", "message"] },
);

const previousError = object(
  {
    provider: described(
      string(),
      "Name of the provider; absent when a budget or a limit refused the attempt before its call.",
    ),
    code: described(string(), "Kind of failure."),
    status: described(integer(), "HTTP status that it would have been answered with."),
    error: unansweredKind,
  },
  { required: ["code", "status"] },
);

const ruleVerdict = object(
  {
    probability: described(number({ min: 0, max: 1 }), "How likely it is that the rule is broken."),
    broken: described(boolean, "Whether that reaches the threshold."),
  },
  { required: ["probability", "broken"] },
);

const judgedCall = object(
  {
    call: described(integer({ min: 1 }), "Number of the provider call, counted from 1."),
    outcome: described(word("allowed", "blocked", "unavailable"), "What came of the evaluation."),
    rules: described(array(ruleVerdict), "One verdict for each rule, in the order of the request."),
    reason: described(string(), "Why there is no verdict."),
  },
  { required: ["call", "outcome"] },
);

export const alignmentVerdicts = named(
  "Alignment",
  object(
    {
      calls: described(array(judgedCall), "Every provider call whose answer was evaluated."),
      rejected: described(array(outputItem), "The answer that was withheld."),
    },
    { required: ["calls"], description: "What the alignment plugin decided." },
  ),
);

const availability = object(
  {
    code: described(word("no_endpoints"), "No endpoint is left for the request."),
    retryable: described(boolean, "Whether the same request may be served later."),
    requested_models: described(array(string()), "Slugs that were asked for."),
    excluded_by: exclusions,
  },
  {
    required: ["code", "retryable", "requested_models", "excluded_by"],
    description: "Why no endpoint can serve the request.",
  },
);

const contextLength = object(
  {
    requested: described(
      integer({ min: 1 }),
      "Tokens of the prompt, with those of the answer where the provider adds them.",
    ),
    maximum: described(integer({ min: 1 }), "Tokens that it may have."),
  },
  { required: ["requested", "maximum"] },
);

const modelLimit = object(
  {
    owner: described(word("key", "workspace"), "Whose limit it is."),
    limit: described(string(), "Path of the limit, such as `model_limits.0.requests_per_minute`."),
    models: described(array(string()), "Slugs of the models that share it, at most five."),
    maximum: described(integer({ min: 1, max: maxTokensPerDay }), "The limit."),
    reset_ms: described(
      integer({ min: 0 }),
      "Milliseconds until all of it is free again; absent for requests at a time.",
    ),
  },
  { required: ["owner", "limit", "models", "maximum"], description: "The limit of models that was reached." },
);

/** `error.metadata.model_limit` when a rate limit by model refuses a request. */
export type ModelLimitRefusal = Accepted<typeof modelLimit>;

export const errorMetadata = object(
  {
    error_type: errorType,
    param: described(string(), "The first field that is wrong."),
    issues: described(array(issue), "All fields that are wrong, at most 20."),
    code: described(
      string(),
      "OpenAI's word for the failure where it differs from `error_type`, such as `model_not_found`.",
    ),
    unknown_model: described(string(), "The name that was asked for and that no model has."),
    permission: described(
      string(),
      "The list of the key's or the workspace's permissions that the request needs, such as `permissions.models`; `allowed_networks` where the key may not be used from the client's address.",
    ),
    value: described(string(), "The name or the address that this list does not allow."),
    model_limit: modelLimit,
    patterns: described(array(string()), "Rules of the guardrail that matched."),
    reasons: described(array(string()), "Categories that moderation has flagged."),
    flagged_input: described(
      string({ max: 100 }),
      "The text that moderation flagged, at most 100 characters; the middle of a longer one is left out.",
    ),
    provider_name: described(
      string(),
      "Id of the provider that failed; after moderation, name of the provider that would have been called.",
    ),
    provider_status: described(
      nullable(integer()),
      "HTTP status that the provider answered with; null where it gave none.",
    ),
    provider_error: unansweredKind,
    provider_request_id: described(
      string({ max: 128 }),
      "The id that the provider gave the request, where its answer had one: its support asks for it.",
    ),
    context_length: described(
      contextLength,
      "How long the prompt was and may be, by the provider's words, or else by an estimate and the catalogue.",
    ),
    provider_message: described(string(), "The provider's own words, where `message` has those of the format."),
    budget: described(word("key", "workspace", "tag"), "Whose budget has too little left."),
    tag: described(string(), "The tag whose budget has too little left, such as `project=apollo`."),
    model_slug: described(string(), "After moderation: slug of the model that would have been called."),
    provider_code: described(string(), "The provider's own name for the failure."),
    previous_errors: described(array(previousError), "Attempts at other endpoints before the last one."),
    availability,
    alignment: alignmentVerdicts,
  },
  { description: "What is known beyond the message." },
);

/** Shape of an error body. @param status shape of the code in the body */
const errorBody = (status: Shape): Shape =>
  object(
    {
      error: object(
        {
          code: described(status, "The HTTP status."),
          message: described(string({ min: 1 }), "What went wrong, for a person."),
          type: described(
            word(...distinct(errorStatuses.flatMap((each) => openAiTypeOf(each) ?? [])).sort()),
            "The kind of failure in OpenAI's words, which its SDKs show as `type`.",
          ),
          param: described(string(), "The first field that is wrong, as in `metadata`."),
          metadata: nullable(errorMetadata),
        },
        { required: ["code", "message"] },
      ),
      service_metadata: described(
        nullable(serviceMetadataShape),
        "How the request was routed until it failed, when `X-Service-Metadata: enabled` asked for it.",
      ),
      usage: described(anyValue, "Tokens of answers that were withheld."),
      user_id: described(nullable(string()), "The account that asked."),
    },
    { required: ["error"] },
  );

/** Shape of the error body for a status. */
export const errorShape = (status: number): Shape => named(`Error${status}`, errorBody(constant(status)));

/** Default error text for a status. */
export const defaultMessage = (status: number): string =>
  (faults.find((fault) => fault.status === status) as Fault).message;

/** Default `error_type` for a status. */
export const defaultErrorType = (status: number): string =>
  (faults.find((fault) => fault.status === status) as Fault).errorType;
