/** Errors of OpenAI-compatible servers, in the shapes that are met in the wild. */
import type { ProviderError } from "../failure.ts";
import { geminiError } from "../gemini/error.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

/** xAI answers 400 to a key that it does not know: about the house, not about the request. */
const refusedKey = /^(incorrect|invalid) api key/i;

/** @param status of the answer; undefined for an error inside of a 200, whose own number then counts */
export function chatError(status: number | undefined, body: unknown): ProviderError {
  // Google's compatible endpoint answers as its own does, in a list of one.
  if (Array.isArray(body)) return geminiError(status, body);
  const outer: JsonObject = isObject(body) ? body : {};
  // {"error": {...}}, {"error": "text"}, {"detail": ...} of FastAPI servers, and vLLM's flat {"message", "code"}.
  const error: JsonObject = isObject(outer.error) ? outer.error : outer;
  const message = messageOf(error.message) || text(outer.error) || messageOf(outer.detail);
  // The last is the name that text-generation-inference has for it.
  const own = [error.code, error.status, error.http_status_code]
    .map(Number)
    .find((number) => number >= 400 && number <= 599);
  const code = text(error.code) || text(error.type);
  const known = statusOf(status ?? own, code, message);
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}

function statusOf(status: number | undefined, code: string, message: string): number | undefined {
  if (status === 400 && refusedKey.test(message)) return 401;
  // Groq's, of a request that is larger than what the house may send in a minute.
  if (status === 413 && code === "rate_limit_exceeded") return 429;
  return status;
}

/** Text, or what FastAPI servers find wrong with a request: `[{"loc", "msg"}]`, which Mistral puts one level deeper. */
function messageOf(value: unknown): string {
  if (isObject(value)) return messageOf(value.message ?? value.detail);
  if (!Array.isArray(value)) return text(value);
  return objects(value)
    .map(({ msg, loc }) => (Array.isArray(loc) ? `${loc.join(".")}: ${text(msg)}` : text(msg)))
    .join("; ");
}
