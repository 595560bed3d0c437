/** Reads errors of OpenAI-compatible servers, in all forms met in practice. */
import type { ProviderError } from "../failure.ts";
import type { Overflow } from "../../../turn/provider-error.ts";
import { untilReset } from "../transport/retry-after.ts";
import { readGoogleError } from "../translate/google-error.ts";
import { isRefusedKey } from "../translate/refused-key.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

/** @param status HTTP status of the answer; undefined for an error inside a 200, whose own number then counts */
export function chatError(status: number | undefined, body: unknown): ProviderError {
  // Google's compatible endpoint answers in the form of Google's own API, in a list of one.
  if (Array.isArray(body)) return readGoogleError(status, body);
  const outer: JsonObject = isObject(body) ? body : {};
  // Known forms: {"error": {...}}, {"error": "text"}, {"detail": ...} of FastAPI servers, and vLLM's flat {"message",
  // "code"}.
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const message = messageOf(error.message) || text(outer.error) || messageOf(outer.detail);
  // The member `http_status_code` is used by text-generation-inference.
  const own = [error.code, error.status, error.http_status_code]
    .map(Number)
    .find((number) => number >= 400 && number <= 599);
  const code = text(error.code) || text(error.type);
  const known = statusOf(status ?? own, code, message);
  const overflow = overflowOf(error);
  const limitResetMs = resetIn(error.metadata);
  return {
    ...(known !== undefined && { status: known }),
    ...(code !== "" && { code }),
    message,
    ...(overflow && { overflow }),
    ...(limitResetMs !== undefined && { limitResetMs }),
  };
}

/**
 * Time of a rate limit's reset. OpenRouter puts the headers of its limits into the error: `{"headers":
 * {"X-RateLimit-Reset": "1780000000000"}}`.
 */
function resetIn(metadata: unknown): number | undefined {
  const headers = isObject(metadata) && isObject(metadata.headers) ? metadata.headers : {};
  return headers["X-RateLimit-Remaining"] === "0"
    ? untilReset(text(headers["X-RateLimit-Reset"]), Date.now())
    : undefined;
}

/** HTTP statuses for the error codes of MiniMax (https://platform.minimax.io/docs/api-reference/errorcode). */
const minimaxStatuses: ReadonlyMap<unknown, number> = new Map([
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1039, 429],
  [2013, 400],
  [2049, 401],
]);

/** The error that MiniMax sends next to empty choices, with the status 200. @returns undefined for a success */
export function minimaxError({ base_resp: told, choices }: JsonObject): JsonObject | undefined {
  if (!isObject(told) || told.status_code === 0 || typeof told.status_code !== "number") return undefined;
  if (Array.isArray(choices) && choices.length > 0) return undefined;
  const status = minimaxStatuses.get(told.status_code) ?? 500;
  return { code: String(told.status_code), status, message: told.status_msg };
}

/** Requested and maximum tokens of a context overflow; llama.cpp has separate fields for them. */
function overflowOf({ n_prompt_tokens: requested, n_ctx: maximum }: JsonObject): Overflow | undefined {
  return typeof requested === "number" && typeof maximum === "number" ? { requested, maximum } : undefined;
}

function statusOf(status: number | undefined, code: string, message: string): number | undefined {
  if (isRefusedKey(status, message)) return 401;
  // Groq answers 413 to a request that is larger than the rate limit per minute.
  if (status === 413 && code === "rate_limit_exceeded") return 429;
  return status;
}

/** The message in an error: a text, or the list of problems of FastAPI servers (`[{"loc", "msg"}]`), which Mistral nests one level deeper. */
function messageOf(value: unknown): string {
  if (isObject(value)) return messageOf(value.message ?? value.detail);
  if (!Array.isArray(value)) return text(value);
  return objects(value)
    .map(({ msg, loc }) => (Array.isArray(loc) ? `${loc.join(".")}: ${text(msg)}` : text(msg)))
    .join("; ");
}
