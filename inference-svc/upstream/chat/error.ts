/** Errors of OpenAI-compatible servers, in the shapes that are met in the wild. */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** @param status of the answer; undefined for an error inside of a 200, whose own number then counts */
export function chatError(status: number | undefined, body: unknown): ProviderError {
  const outer: JsonObject = isObject(body) ? body : {};
  // {"error": {...}}, {"error": "text"}, {"detail": ...} of FastAPI servers, and vLLM's flat {"message", "code"}.
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const message = text(error.message) || text(outer.error) || text(outer.detail);
  const own = [error.code, error.status].map(Number).find((number) => number >= 400 && number <= 599);
  const code = text(error.code) || text(error.type);
  const known = status ?? own;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}
