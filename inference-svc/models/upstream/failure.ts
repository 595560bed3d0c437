/** Converts a provider's status and error code to a fault. */
import type { UnansweredKind } from "@sluice/proto/contract/response/provider-error.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Overflow, ProviderFailure } from "../../turn/provider-error.ts";
import { maskUnknownName } from "./known-words.ts";
import { readOverflow } from "./overflow.ts";

/** The fields of an error a dialect has found. */
export interface ProviderError {
  /** HTTP status of the answer, or the equivalent of it for an error inside a 200; absent when unknown. */
  readonly status?: number;
  /** The provider's own error code or type. */
  readonly code?: string;
  readonly message?: string;
  /** Token counts of a prompt that is too long, if the error has fields for them. */
  readonly overflow?: Overflow;
  readonly retryAfterMs?: number;
  /**
   * Milliseconds until a used-up limit is full again, for the wait after a rate limit without `retryAfterMs`. Answers
   * contain it after any failure, even together with spent credit.
   */
  readonly limitResetMs?: number;
  /** The provider's id of the request, for questions to its support. */
  readonly requestId?: string | undefined;
}

/** The fault for a failure of the provider. Clients see a general message, and the log gets the detail. */
export const providerFailed = (detail: string, cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, "", { origin: FaultOrigin.UPSTREAM, cause: new Error(detail, { cause }) });

/**
 * The fault for an answer beyond a limit. Clients see the limit, because their request may be the reason. @param excess
 * such as `more than 9 bytes`
 */
export const answerTooLarge = (excess: string): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, `The answer is too large: ${excess}`, {
    origin: FaultOrigin.UPSTREAM,
    cause: new Error(`answer of ${excess}`),
  });

/**
 * The fault for an answer whose finish reason is a failure.
 * @param message words of the provider, shown to clients with the reason; the log gets only the reason, because the
 * words may quote the prompt
 */
export function endedWithFailure(reason: string, message: string): Fault {
  const words = sanitizeMessage(message);
  const shown = maskUnknownName(reason);
  return new Fault(
    FaultReason.PROVIDER_FAILED,
    `The provider ended the answer with the reason ${shown}${words === "" ? "" : `: ${words}`}`,
    { origin: FaultOrigin.UPSTREAM, cause: new Error(`finish reason ${shown}`), metadata: { provider_code: shown } },
  );
}

/**
 * Whether the context window is exceeded. This ends a running answer as a token limit does; before the first event, the
 * request is too large.
 */
export const isContextExceeded = ({ reason }: Fault): boolean => reason === FaultReason.CONTEXT_LENGTH_EXCEEDED;

/** The fault for an answer whose connection broke off. */
export const connectionLost = (cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, "Provider connection lost", {
    origin: FaultOrigin.UPSTREAM,
    cause: new ProviderFailure("cut", "the answer ended early", cause),
  });

/**
 * Kinds of timeouts by phase. The client has received nothing before the first event of a stream, and before the end of
 * an answer without one.
 */
const timeouts: Readonly<Record<string, UnansweredKind>> = {
  connection: "timeout_connect",
  headers: "timeout_first_event",
  "first event": "timeout_first_event",
  credentials: "credentials",
};

/** @param missing the phase of the exchange, or the thing, that did not come in time */
export const providerTimeout = (missing: string, cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_TIMEOUT, "", {
    origin: FaultOrigin.UPSTREAM,
    cause: new ProviderFailure(timeouts[missing] ?? "timeout", `no ${missing} in time`, cause),
  });

/** The fault for missing credentials. @param detail text for the log */
export const withoutCredentials = (detail: string): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, "", {
    origin: FaultOrigin.UPSTREAM,
    cause: new ProviderFailure("credentials", detail),
  });

const byStatus: Readonly<Record<number, FaultReason>> = {
  400: FaultReason.INVALID_REQUEST,
  // The statuses 401, 402 and 403 concern Sluice's credentials, and not the caller's key.
  401: FaultReason.PROVIDER_FAILED,
  402: FaultReason.PROVIDER_FAILED,
  403: FaultReason.PROVIDER_FAILED,
  404: FaultReason.NO_ENDPOINTS,
  408: FaultReason.PROVIDER_TIMEOUT,
  413: FaultReason.PAYLOAD_TOO_LARGE,
  422: FaultReason.UNPROCESSABLE,
  429: FaultReason.RATE_LIMITED,
  // Groq answers 498 when a tier is at capacity.
  498: FaultReason.PROVIDER_OVERLOADED,
  504: FaultReason.PROVIDER_TIMEOUT,
  524: FaultReason.PROVIDER_TIMEOUT,
  529: FaultReason.PROVIDER_OVERLOADED,
};

/** Reasons by error code, for errors inside a 200, which have no status of their own. */
const byCode: Readonly<Record<string, FaultReason>> = {
  invalid_request_error: FaultReason.INVALID_REQUEST,
  invalid_prompt: FaultReason.INVALID_PROMPT,
  rate_limit_exceeded: FaultReason.RATE_LIMITED,
  rate_limit_error: FaultReason.RATE_LIMITED,
  model_not_found: FaultReason.NO_ENDPOINTS,
  timeout: FaultReason.PROVIDER_TIMEOUT,
};

/**
 * Matches error texts about a full context window. From the second line on: llama.cpp; xAI, vLLM; Moonshot, GLM;
 * Anthropic, Bedrock; text-generation-inference; Qwen; Groq; and in the last line OpenAI, GitHub, Ollama and
 * text-generation-inference.
 */
const contextOverflow = new RegExp(
  [
    "context[_ ](length|window)|maximum context|prompt is too long|input is too long|too many (input )?tokens|(input|requested) token count",
    "available context size|exceed_context_size",
    "maximum (prompt|model) length",
    "exceeded model token limit|prompt exceeds max length",
    "exceeds? context limit",
    "max_new_tokens. must be <=",
    "range of input length should be",
    "reduce the length of the messages",
    "max_tokens_exceeded|token_limit_exceeded",
    "context size has been exceeded",
    "input tokens? exceed|token count of \\d+ exceeds|input length \\S+ exceeds|`inputs` must have less than",
  ].join("|"),
  "i",
);
const contentPolicy =
  /content[_ ]?(management )?(policy|filter)|responsible_?ai_?policy|safety system|usage polic(y|ies)/i;
/**
 * Matches error texts about an unknown model: OpenAI and others answer 400 or 403 to a missing or retired model,
 * although the configured name is wrong.
 */
const unknownModel =
  /^(model_not_found|invalid_model|model_decommissioned)$|^(\/\S+: )?invalid model\b|^model not exist/i;
/** Matches error texts about spent credit. Z.ai and MiniMax answer 429 with the last two of these texts. */
const quotaSpent =
  /insufficient_quota|billing_hard_limit|credit balance|spend limit|insufficient[ _]balance|\brecharge\b/i;

/** Whether the credit is spent and no time of new credit is known. Unlike after a rate limit, a retry is then pointless. */
const isSpent = ({ status, code, message, retryAfterMs }: ProviderError): boolean =>
  (status === undefined || status === 429) &&
  (retryAfterMs ?? 0) === 0 &&
  quotaSpent.test(`${code ?? ""} ${message ?? ""}`);

function reasonOf(error: ProviderError): FaultReason {
  const { status } = error;
  const text = `${error.code ?? ""} ${error.message ?? ""}`;
  const callers = status === undefined || status === 400 || status === 413 || status === 422;
  if ((status === 400 || status === 403) && [error.code, error.message].some((value) => unknownModel.test(value ?? "")))
    return FaultReason.NO_ENDPOINTS;
  // llama.cpp answers 500 when the context window is full.
  if ((callers || status === 500) && contextOverflow.test(text)) return FaultReason.CONTEXT_LENGTH_EXCEEDED;
  if ((callers || status === 403) && contentPolicy.test(text)) return FaultReason.CONTENT_POLICY;
  if (isSpent(error)) return FaultReason.PROVIDER_FAILED;
  if ((status === undefined || status >= 500) && /overloaded/i.test(text)) return FaultReason.PROVIDER_OVERLOADED;
  const known = status === undefined ? byCode[error.code ?? ""] : byStatus[status];
  return known ?? (status !== undefined && status < 500 ? FaultReason.INVALID_REQUEST : FaultReason.PROVIDER_FAILED);
}

/** Reasons that concern the caller's request, so the provider's message is shown; other reasons have a fixed text. */
const explained: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.UNPROCESSABLE,
]);

/**
 * Statuses retried at another endpoint and tell nothing about the request: an endpoint gone or misconfigured, an answer
 * that failed midway (text-generation-inference and Groq answer 424), and errors of proxies.
 */
const transient: ReadonlySet<number | undefined> = new Set([405, 407, 409, 410, 421, 424, 425, 426, 499]);

export function providerFault(error: ProviderError): Fault {
  const reason = transient.has(error.status) ? FaultReason.PROVIDER_FAILED : reasonOf(error);
  const code = error.code === undefined ? undefined : maskUnknownName(error.code);
  const message = sanitizeMessage(error.message ?? "");
  const retryAfterMs = error.retryAfterMs ?? (reason === FaultReason.RATE_LIMITED ? error.limitResetMs : undefined);
  return new Fault(reason, explained.has(reason) ? message : "", {
    origin: FaultOrigin.UPSTREAM,
    // The log gets only the status and the code, because the provider's message may quote the prompt.
    cause: new ProviderFailure("error_event", `provider answered ${error.status ?? "an error"} ${code ?? ""}`.trim()),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(isSpent(error) && { shouldRetry: false }),
    ...(error.status !== undefined && { providerStatus: error.status }),
    ...withMetadata({
      ...(code !== undefined && { provider_code: code }),
      ...(error.requestId !== undefined && { provider_request_id: error.requestId }),
      ...(reason === FaultReason.CONTEXT_LENGTH_EXCEEDED && {
        context_length: { ...readOverflow(error.message ?? ""), ...error.overflow },
      }),
    }),
  });
}

const withMetadata = (metadata: Readonly<Record<string, unknown>>) =>
  Object.keys(metadata).length === 0 ? undefined : { metadata };

const maxCharacters = 500;

const secrets = /\b(?:bearer\s+|(?:sk|pk|rk|mk|ak|gsk|key|token|xai|ghp|AIza)[-_])[\w.-]{6,}/gi;
/** Matches long runs of letters and digits, which are far more often keys or hashes than words. */
const tokens = /\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}/g;
const webTokens = /\beyJ[\w-]+(\.[\w-]*)*/g;
const links = /\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi;
const addresses =
  /\b(?:\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|[\w-]+(?:\.[\w-]+)*\.(?:local|internal|svc|lan|corp)\b(?::\d+)?|[\w-]+(?:\.[\w-]+)+:\d{2,5})/gi;
const controls = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;

export function sanitizeMessage(text: string): string {
  const clean = text
    .slice(0, 4_000)
    .replace(links, "[link]")
    .replace(secrets, "[redacted]")
    .replace(webTokens, "[redacted]")
    .replace(tokens, "[redacted]")
    .replace(addresses, "[address]")
    .replace(controls, " ")
    .trim();
  const characters = Array.from(clean);
  return characters.length > maxCharacters ? `${characters.slice(0, maxCharacters - 1).join("")}…` : clean;
}
