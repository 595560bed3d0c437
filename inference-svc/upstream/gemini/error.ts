/**
 * Errors of Gemini servers, as an answer and inside of a stream: `{"error": {"code", "status", "message", "details"}}`, where details are
 * of google.rpc (https://ai.google.dev/gemini-api/docs/troubleshooting, https://google.aip.dev/193).
 */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

/** Those that come without a number of their own, or stand for another one than theirs (https://cloud.google.com/apis/design/errors). */
const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  // About the place or the account of the house: not paid for, or not served from here.
  FAILED_PRECONDITION: 403,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  // The provider's own doing: nobody here has cancelled.
  CANCELLED: 500,
  INTERNAL: 500,
  UNKNOWN: 500,
  UNAVAILABLE: 529,
  DEADLINE_EXCEEDED: 504,
};

const unpaid = /prepayment credits|spend(ing)? (cap|limit)/i;

/** @param status of the answer; undefined for an error inside of a 200 */
export function geminiError(status: number | undefined, body: unknown): ProviderError {
  // Without server-sent events a stream is an array.
  const outer = Array.isArray(body) ? (body as readonly unknown[])[0] : body;
  const error: JsonObject = isObject(outer) && isObject(outer.error) ? outer.error : {};
  const details = objects(error.details);
  const code = text(error.status);
  const message = text(error.message);
  const known = statusOf(error, details, status);
  const retryAfterMs = delayIn(details);
  return {
    ...(known !== undefined && { status: known }),
    ...(code !== "" && { code }),
    message,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

function statusOf(error: JsonObject, details: readonly JsonObject[], status: number | undefined): number | undefined {
  // A 400 by its number, but about the house's own key.
  if (details.some(({ reason }) => text(reason).startsWith("API_KEY_"))) return 401;
  if (unpaid.test(text(error.message))) return 402;
  const own = typeof error.code === "number" && error.code >= 400 && error.code <= 599 ? error.code : undefined;
  return statuses[text(error.status)] ?? status ?? own;
}

/** `{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}`; a hint beyond a day helps nobody. */
function delayIn(details: readonly JsonObject[]): number | undefined {
  const info = details.find((detail) => text(detail["@type"]).endsWith("google.rpc.RetryInfo"));
  const seconds = Number(/^(\d+(?:\.\d+)?)s$/.exec(text(info?.retryDelay))?.[1] ?? Number.NaN);
  return Number.isNaN(seconds) ? undefined : Math.min(86_400_000, Math.ceil(seconds * 1_000));
}
