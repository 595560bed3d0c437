/** Errors of Cohere: `{"message", "id"}` (https://docs.cohere.com/reference/errors). Clouds send `{"error": {...}}` for its models. */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** Statuses with a meaning other than their number. */
const misleading: readonly (readonly [status: number, message: RegExp, known: number])[] = [
  // A model not served by the API is a plain 400; it is an error of the configuration.
  [400, /^(invalid request: )?model '[^']*' (is not supported|not found)/i, 404],
  // The monthly limit of a trial key is used up: waiting does not help.
  [429, /\/ month\b/i, 402],
];

/** Cohere's 498 is a request or an answer with a deny-listed word. */
const denied = 498;

/** @param status of the answer; undefined for an error inside a 200 */
export function cohereError(status: number | undefined, body: unknown): ProviderError {
  const outer: JsonObject = isObject(body) ? body : {};
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const message = text(error.message) || text(outer.error) || text(outer.detail);
  if (status === denied) return { status: 400, code: "content_filter", message };
  const code = text(error.code);
  const known = misleading.find(([given, words]) => given === status && words.test(message))?.[2] ?? status;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}
