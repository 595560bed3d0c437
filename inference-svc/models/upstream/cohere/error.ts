/**
 * Reads errors of Cohere: `{"message", "id"}` (https://docs.cohere.com/reference/errors). Clouds send `{"error":
 * {...}}` for Cohere's models.
 */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** Errors with a meaning that differs from their status, each with the status that fits. */
const misleading: readonly (readonly [status: number, message: RegExp, known: number])[] = [
  // Cohere answers 400 for a model its API does not serve, which is an error of the configuration.
  [400, /^(invalid request: )?model '[^']*' (is not supported|not found)/i, 404],
  // When the monthly limit of a trial key is used up, waiting does not help.
  [429, /\/ month\b/i, 402],
];

/** Cohere's status for a request or an answer with a word on its deny list. */
const denied = 498;

/** @param status HTTP status of the answer; undefined for an error inside a 200 */
export function cohereError(status: number | undefined, body: unknown): ProviderError {
  const outer: JsonObject = isObject(body) ? body : {};
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const message = text(error.message) || text(outer.error) || text(outer.detail);
  if (status === denied) return { status: 400, code: "content_filter", message };
  const code = text(error.code);
  const known = misleading.find(([given, words]) => given === status && words.test(message))?.[2] ?? status;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}
