/** The reference of errors: a section for each `error_type` of the contract. */
import { Code } from "@connectrpc/connect";
import { errorTypeOf } from "@sluice/gateway/contract/messages/error.js";
import { openAiTypeOf } from "@sluice/proto/contract/operations/errors.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";

interface Advice {
  readonly means: string;
  readonly remedy: string;
}

type Published = Exclude<FaultReason, FaultReason.UNSPECIFIED>;

/** Advice for each error type, in the order of the page: failures of the request, of the caller, of limits, of the service and of providers. */
const advice: Readonly<Record<Published, Advice>> = {
  [FaultReason.INVALID_REQUEST]: {
    means: "A field is missing, malformed or beyond its limits, or the body is no JSON.",
    remedy: "Correct the fields listed in `metadata.issues`; `param` is the first of them.",
  },
  [FaultReason.INVALID_PROMPT]: {
    means: "The request is well-formed, but the format of the model's provider cannot carry its input.",
    remedy:
      "Change the part named in the message, or ask a model of [a format that carries it](../providers/formats.md).",
  },
  [FaultReason.CONTEXT_LENGTH_EXCEEDED]: {
    means:
      "The input, at some providers with the answer asked for, is longer than the model's window; `metadata.context_length` has both figures.",
    remedy:
      "Shorten the input, lower `max_output_tokens`, ask a model with a larger window, or add the plugin [context-compression](../plugins/context-compression.md).",
  },
  [FaultReason.CONTENT_POLICY]: {
    means: "The provider refused the content by its own policy; no guardrail of yours did.",
    remedy: "Change the input, or name a further model in `models`: the same request fails again.",
  },
  [FaultReason.UNAUTHENTICATED]: {
    means: "No key arrived, or one that is malformed, unknown, disabled or expired.",
    remedy: "Send `Authorization: Bearer KEY` or `x-api-key: KEY`; `keys list` shows which keys are in force.",
  },
  [FaultReason.PERMISSION_DENIED]: {
    means: "The key is of the other kind, or may not do this.",
    remedy: "Use a management key to administer and an API key for models; the message names the restriction.",
  },
  [FaultReason.GUARDRAIL_BLOCKED]: {
    means: "A guardrail blocked the request or its answer; `metadata.patterns` names the rules.",
    remedy:
      "Change the content, or the [guardrail](../guardrails/README.md) of the key. A dry run shows the effect without a call.",
  },
  [FaultReason.ALIGNMENT_BLOCKED]: {
    means: "The [alignment plugin](../plugins/alignment.md) withheld the answer: none kept its rules.",
    remedy: "Read `metadata.alignment` for the verdicts, and change the rules or the model.",
  },
  [FaultReason.NOT_FOUND]: {
    means: "The record or path does not exist, or not in the workspace of this key.",
    remedy: "Compare the path with the [operations](operations.md), and the id with a list.",
  },
  [FaultReason.NO_ENDPOINTS]: {
    means:
      "No model has this name (`metadata.unknown_model`), or no endpoint may serve the request; `metadata.availability.excluded_by` counts why.",
    remedy:
      "Take a name of `GET /api/v1/models`; loosen `provider` of the request or the key's [routing](../providers/routing.md).",
  },
  [FaultReason.CONFLICT]: {
    means: "Another record of the workspace has this name or external id.",
    remedy: "Choose another name, or update the record.",
  },
  [FaultReason.PAYLOAD_TOO_LARGE]: {
    means: "The body is larger than `limits.body_bytes`, 32 MiB by default, or than the limit of a proxy in front.",
    remedy: "Send files by address instead of within the body, or raise [the limit](limits.md).",
  },
  [FaultReason.UNPROCESSABLE]: {
    means: "Each field is right, but together they contradict each other.",
    remedy: "Leave out one of the fields named in the message.",
  },
  [FaultReason.PAYMENT_REQUIRED]: {
    means:
      "The budget of the key, the workspace or a tag (`metadata.budget`) is spent, or the account at the provider.",
    remedy: "Raise the [budget](../budgets/README.md) or wait for its next period; `GET /api/v1/key` shows the rest.",
  },
  [FaultReason.BUDGET_HELD]: {
    means:
      "The rest of the budget is held for requests under way; `metadata` has `limit`, `remaining`, `held` and `needed`.",
    remedy: "Repeat after `Retry-After`, lower `max_output_tokens`, or send fewer requests at a time.",
  },
  [FaultReason.RATE_LIMITED]: {
    means:
      "The key has too many requests, tokens or open streams, in all or for a model, or every provider of the model limits Sluice.",
    remedy:
      "Repeat after `Retry-After`; the headers `x-ratelimit-*` have the [limits of the key](../budgets/rate-limits.md) or of the [models](../budgets/model-limits.md).",
  },
  [FaultReason.DEADLINE_EXCEEDED]: {
    means: "The time for a turn is over: `limits.turn_ms`, `limits.stream_ms`, or the client's `X-Request-Timeout-Ms`.",
    remedy:
      "Stream long answers, which may take 30 minutes, or raise the limit. The call was billed as far as it went.",
  },
  [FaultReason.PROVIDER_TIMEOUT]: {
    means: "The provider did not begin its answer, or stopped within it, for longer than `providers[].timeouts`.",
    remedy: "Repeat it; give the model a second endpoint, or the provider more time.",
  },
  [FaultReason.INTERNAL]: {
    means: "A bug, or administration without its database, then with `Retry-After`.",
    remedy: "Search the logs for the `x-request-id` of the answer: the line has the cause.",
  },
  [FaultReason.PROVIDER_FAILED]: {
    means:
      "The provider failed, broke off, or could not be reached; `metadata` has `provider_name`, `provider_status` and `provider_error`.",
    remedy: "Repeat it; `test-provider ID` shows the fault at its source. A second endpoint serves meanwhile.",
  },
  [FaultReason.UNAVAILABLE]: {
    means:
      "Sluice itself has no capacity: no inference process is ready, too much is waiting, or a rule cannot be checked.",
    remedy:
      "Repeat after `Retry-After`; [503 in an answer](../operate/troubleshooting.md#in-an-answer) lists the causes.",
  },
  [FaultReason.PROVIDER_OVERLOADED]: {
    means: "The provider reports that it is overloaded.",
    remedy: "Repeat it later, or give the model a second endpoint.",
  },
};

const faults = Object.values(FaultReason)
  .filter((reason): reason is Published => typeof reason === "number" && Object.hasOwn(advice, reason))
  .map((reason) => new Fault(reason));

/** Name of a gRPC status as gRPC's documentation writes it. */
const grpcName = (code: Code): string => Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

function paragraphOf(fault: Fault): string {
  const { means, remedy } = advice[fault.reason as Published];
  const { status, message, shouldRetry } = fault;
  const repeated = shouldRetry ? "may succeed when repeated" : "fails again when repeated";
  return `**${status} \`${message}\`**, ${repeated}. ${means}\n\n→ ${remedy}\n`;
}

const distinct = <Value>(values: readonly Value[]): readonly Value[] => [...new Set(values)];

const namesOf = (values: readonly (string | undefined)[]): string =>
  distinct(values)
    .map((value) => (value === undefined ? "none" : `\`${value}\``))
    .join(", ");

function sectionOf(type: string, own: readonly Fault[]): string {
  return [
    `## ${type}`,
    "",
    ...own.map(paragraphOf),
    `\`error.type\` ${namesOf(own.map(({ status }) => openAiTypeOf(status)))} · ` +
      `at \`/messages\` ${namesOf(own.map(({ status }) => errorTypeOf(status)))} · ` +
      `code of a failed response ${namesOf(own.map(({ responseCode }) => responseCode))} · ` +
      `gRPC ${namesOf(own.map(({ code }) => grpcName(code)))}`,
    "",
  ].join("\n");
}

/** A section for each error type, in the order of HTTP statuses. */
export function errorSections(): string {
  const sorted = faults.toSorted((a, b) => a.status - b.status);
  const types = distinct(sorted.map(({ errorType }) => errorType));
  const sections = types.map((type) =>
    sectionOf(
      type,
      sorted.filter(({ errorType }) => errorType === type),
    ),
  );
  return ["", ...sections].join("\n");
}
