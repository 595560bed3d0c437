/** Reads errors of servers with the Messages API: `{"type": "error", "error": {"type", "message"}}`, as an answer and inside a stream. */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** HTTP statuses by error type, for errors inside a 200 (https://platform.claude.com/docs/en/api/errors). */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Matches messages about used-up credit or a spend limit, to which Anthropic answers 400 although the request is not wrong. */
const unpaid = /credit balance|(spend|usage) limits?\b/i;

/** @param status HTTP status of the answer; undefined for an error inside a 200 */
export function messagesError(status: number | undefined, body: unknown): ProviderError {
  const outer: JsonObject = isObject(body) ? body : {};
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const code = text(error.type) === "error" ? "" : text(error.type);
  const message = text(error.message);
  const stated = status ?? statuses[code];
  const known = stated === 400 && unpaid.test(message) ? 402 : stated;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}
