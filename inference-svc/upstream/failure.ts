/** What a provider's failure means to the caller: one table from its status and code to a fault. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { shown } from "./shown.ts";

/** What a dialect could make out of an error. */
export interface ProviderError {
  /** HTTP status of the answer, or the one that an error inside of a 200 stands for; absent when nothing says. */
  readonly status?: number;
  /** The provider's own code or type. */
  readonly code?: string;
  readonly message?: string;
  readonly retryAfterMs?: number;
}

/** A failure that is the provider's, whatever it was; the detail goes to the log. */
export const providerFailed = (detail: string, cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, "", { origin: FaultOrigin.UPSTREAM, cause: new Error(detail, { cause }) });

/** Of an answer that runs it is the end, as a limit of tokens is; before that it is the request that does not fit. */
export const isFullWindow = ({ reason }: Fault): boolean => reason === FaultReason.CONTEXT_LENGTH_EXCEEDED;

/** The answer stopped before it was finished. */
export const connectionLost = (cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_FAILED, "Provider connection lost", { origin: FaultOrigin.UPSTREAM, cause });

export const providerTimeout = (missing: string, cause?: unknown): Fault =>
  new Fault(FaultReason.PROVIDER_TIMEOUT, "", {
    origin: FaultOrigin.UPSTREAM,
    cause: new Error(`no ${missing} in time`, { cause }),
  });

const byStatus: Readonly<Record<number, FaultReason>> = {
  400: FaultReason.INVALID_REQUEST,
  // 401, 402 and 403 are about the house's own credential: the caller's key is fine.
  401: FaultReason.PROVIDER_FAILED,
  402: FaultReason.PROVIDER_FAILED,
  403: FaultReason.PROVIDER_FAILED,
  404: FaultReason.NO_ENDPOINTS,
  408: FaultReason.PROVIDER_TIMEOUT,
  413: FaultReason.PAYLOAD_TOO_LARGE,
  422: FaultReason.UNPROCESSABLE,
  429: FaultReason.RATE_LIMITED,
  // Groq's, where a tier has no room.
  498: FaultReason.PROVIDER_OVERLOADED,
  504: FaultReason.PROVIDER_TIMEOUT,
  524: FaultReason.PROVIDER_TIMEOUT,
  529: FaultReason.PROVIDER_OVERLOADED,
};

/** For errors without a status of their own: those inside of a 200. */
const byCode: Readonly<Record<string, FaultReason>> = {
  invalid_request_error: FaultReason.INVALID_REQUEST,
  invalid_prompt: FaultReason.INVALID_PROMPT,
  rate_limit_exceeded: FaultReason.RATE_LIMITED,
  rate_limit_error: FaultReason.RATE_LIMITED,
  model_not_found: FaultReason.NO_ENDPOINTS,
  timeout: FaultReason.PROVIDER_TIMEOUT,
};

/** In the words of, from the second line on: llama.cpp; xAI, vLLM; Moonshot, GLM; Anthropic, Bedrock; text-generation-inference; Qwen; Groq. */
const contextOverflow = new RegExp(
  [
    "context[_ ](length|window)|maximum context|prompt is too long|input is too long|too many (input )?tokens|input token count",
    "available context size|exceed_context_size",
    "maximum (prompt|model) length",
    "exceeded model token limit|prompt exceeds max length",
    "exceeds? context limit",
    "max_new_tokens. must be <=",
    "range of input length should be",
    "reduce the length of the messages",
    "max_tokens_exceeded|token_limit_exceeded",
    "context size has been exceeded",
  ].join("|"),
  "i",
);
const contentPolicy =
  /content[_ ]?(management )?(policy|filter)|responsible_?ai_?policy|safety system|usage polic(y|ies)/i;
/** The operator's name of the model: OpenAI and others answer 400 or 403 to one that is not there, or no longer. */
const unknownModel =
  /^(model_not_found|invalid_model|model_decommissioned)$|^(\/\S+: )?invalid model\b|^model not exist/i;
const quotaSpent = /insufficient_quota|billing_hard_limit|credit balance|spend limit/i;

/** Money, and nobody says when there will be some: to come back helps nobody, unlike after a limit of rates. */
const isSpent = ({ status, code, message, retryAfterMs }: ProviderError): boolean =>
  (status === undefined || status === 429) &&
  (retryAfterMs ?? 0) === 0 &&
  quotaSpent.test(`${code ?? ""} ${message ?? ""}`);

function reasonOf(error: ProviderError): FaultReason {
  const { status } = error;
  const text = `${error.code ?? ""} ${error.message ?? ""}`;
  const callers = status === undefined || status === 400 || status === 413 || status === 422;
  if ((status === 400 || status === 403) && [error.code, error.message].some((said) => unknownModel.test(said ?? "")))
    return FaultReason.NO_ENDPOINTS;
  // llama.cpp says 500.
  if ((callers || status === 500) && contextOverflow.test(text)) return FaultReason.CONTEXT_LENGTH_EXCEEDED;
  if ((callers || status === 403) && contentPolicy.test(text)) return FaultReason.CONTENT_POLICY;
  if (isSpent(error)) return FaultReason.PROVIDER_FAILED;
  if ((status === undefined || status >= 500) && /overloaded/i.test(text)) return FaultReason.PROVIDER_OVERLOADED;
  const known = status === undefined ? byCode[error.code ?? ""] : byStatus[status];
  return known ?? (status !== undefined && status < 500 ? FaultReason.INVALID_REQUEST : FaultReason.PROVIDER_FAILED);
}

/** These are about what the caller sent, so that the provider's words help; for all others the table's own text is shown. */
const explained: ReadonlySet<FaultReason> = new Set([
  FaultReason.INVALID_REQUEST,
  FaultReason.INVALID_PROMPT,
  FaultReason.CONTEXT_LENGTH_EXCEEDED,
  FaultReason.CONTENT_POLICY,
  FaultReason.UNPROCESSABLE,
]);

/**
 * These are worth another endpoint and say nothing about the caller's request: a server that nobody asks this way, or no longer; one that
 * did not get to an end (text-generation-inference and Groq say 424); what proxies answer of themselves.
 */
const transient: ReadonlySet<number | undefined> = new Set([405, 407, 409, 410, 421, 424, 425, 426, 499]);

export function providerFault(error: ProviderError): Fault {
  const reason = transient.has(error.status) ? FaultReason.PROVIDER_FAILED : reasonOf(error);
  const code = error.code !== undefined && /^[\w.-]{1,64}$/.test(error.code) ? error.code : undefined;
  const message = shown(error.message ?? "");
  return new Fault(reason, explained.has(reason) ? message : "", {
    origin: FaultOrigin.UPSTREAM,
    // For the log, which holds no words of a provider: they may quote the prompt.
    cause: new Error(`provider answered ${error.status ?? "an error"} ${code ?? ""}`.trim()),
    ...(error.retryAfterMs !== undefined && { retryAfterMs: error.retryAfterMs }),
    ...(isSpent(error) && { shouldRetry: false }),
    ...(error.status !== undefined && { providerStatus: error.status }),
    ...(code !== undefined && { metadata: { provider_code: code } }),
  });
}
