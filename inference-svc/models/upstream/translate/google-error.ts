/**
 * Reads errors of Google's APIs, which its OpenAI-compatible endpoint sends as well: `{"error": {"code", "status",
 * "message", "details"}}`, with details of google.rpc (https://ai.google.dev/gemini-api/docs/troubleshooting,
 * https://google.aip.dev/193).
 */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";

/** HTTP statuses for those of Google's status words that have no number, or a misleading one (https://cloud.google.com/apis/design/errors). */
const statuses: Readonly<Record<string, number>> = {
  INVALID_ARGUMENT: 400,
  // The cause is Sluice's account: it is not paid for, or the API is not available in its country.
  FAILED_PRECONDITION: 403,
  OUT_OF_RANGE: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  // Google has cancelled the call, since Sluice never does.
  CANCELLED: 500,
  INTERNAL: 500,
  UNKNOWN: 500,
  UNAVAILABLE: 529,
  DEADLINE_EXCEEDED: 504,
};

const unpaid = /prepayment credits|spend(ing)? (cap|limit)/i;

/** @param status HTTP status of the answer; undefined for an error inside a 200 */
export function readGoogleError(status: number | undefined, body: unknown): ProviderError {
  // A stream without server-sent events is an array.
  const outer = Array.isArray(body) ? (body as readonly unknown[])[0] : body;
  const error: JsonObject = isObject(outer) && isObject(outer.error) ? outer.error : {};
  const details = objects(error.details);
  const code = text(error.status);
  const message = [text(error.message), ...violationsIn(details)].filter((words) => words !== "").join(" ");
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
  // Google's number for a wrong API key is 400.
  if (details.some(({ reason }) => text(reason).startsWith("API_KEY_"))) return 401;
  if (unpaid.test(text(error.message))) return 402;
  const own = typeof error.code === "number" && error.code >= 400 && error.code <= 599 ? error.code : undefined;
  return statuses[text(error.status)] ?? status ?? own;
}

/** Names of the fields Google refuses, because its message often is only "Request contains an invalid argument." */
const violationsIn = (details: readonly JsonObject[]): readonly string[] =>
  details.flatMap(({ fieldViolations }) =>
    objects(fieldViolations).map(({ field, description }) =>
      [text(field), text(description)].filter((words) => words !== "").join(": "),
    ),
  );

/** The delay in `{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}` in milliseconds, at most a day. */
function delayIn(details: readonly JsonObject[]): number | undefined {
  const info = details.find((detail) => text(detail["@type"]).endsWith("google.rpc.RetryInfo"));
  const seconds = Number(/^(\d+(?:\.\d+)?)s$/.exec(text(info?.retryDelay))?.[1] ?? Number.NaN);
  return Number.isNaN(seconds) ? undefined : Math.min(86_400_000, Math.ceil(seconds * 1_000));
}
