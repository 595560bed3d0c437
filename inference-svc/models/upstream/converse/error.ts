/**
 * Reads errors of Amazon Bedrock. Their name is in a header, in the body or in a frame, and their message in the body
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors).
 */
import type { ProviderError } from "../failure.ts";
import type { ResponseFields } from "../transport/http/response-head.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** HTTP statuses by the name of the exception. Bedrock's own status misleads: 424 for a model that fails, 429 for a model that is not ready. */
const statuses: Readonly<Record<string, number>> = {
  AccessDeniedException: 403,
  InternalServerException: 500,
  ModelErrorException: 500,
  ModelNotReadyException: 503,
  ModelStreamErrorException: 500,
  ModelTimeoutException: 408,
  ResourceNotFoundException: 404,
  // The quota belongs to the account; the request is not wrong.
  ServiceQuotaExceededException: 402,
  ServiceUnavailableException: 503,
  ThrottlingException: 429,
  ValidationException: 400,
};

/** Matches the message for an unknown model id, for which Bedrock answers 400 although the configuration is wrong. */
const unknownModel = /model identifier is invalid|on-demand throughput isn.t supported/i;

/**
 * @param status HTTP status of the answer; undefined for an error inside a 200
 * @param named name of the exception in a frame or header
 */
export function converseError(status: number | undefined, body: unknown, named?: string): ProviderError {
  const fields: JsonObject = isObject(body) ? body : {};
  const code = nameOf(named ?? text(fields["__type"]));
  const message = text(fields.message) || text(fields.Message);
  const stated = statuses[code] ?? (status === 424 ? 500 : status);
  const known = stated === 400 && unknownModel.test(message) ? 404 : stated;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}

/** The name of the exception in the headers of an answer. */
export const findErrorType = (headers: ResponseFields): string | undefined => headers.first("x-amzn-errortype");

/**
 * Normalizes the name of an exception: "com.amazon.coral.service#ThrottlingException", "ThrottlingException:http://…"
 * and "throttlingException" are equal.
 */
function nameOf(raw: string): string {
  const name = (raw.split("#").at(-1) ?? "").split(":", 1)[0] ?? "";
  return name.charAt(0).toUpperCase() + name.slice(1);
}
