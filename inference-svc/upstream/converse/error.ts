/**
 * Errors of Amazon Bedrock: named in a header, in the body or in a frame, with a message in the body
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html#API_runtime_ConverseStream_Errors).
 */
import type { IncomingHttpHeaders } from "node:http";
import type { ProviderError } from "../failure.ts";
import { headerOf } from "../header.ts";
import { type JsonObject, isObject, text } from "../json.ts";

/** By the name of an exception what it means elsewhere: its own status says 424 for a model that fails, and 429 for one that is not there yet. */
const statuses: Readonly<Record<string, number>> = {
  AccessDeniedException: 403,
  InternalServerException: 500,
  ModelErrorException: 500,
  ModelNotReadyException: 503,
  ModelStreamErrorException: 500,
  ModelTimeoutException: 408,
  ResourceNotFoundException: 404,
  // Of the account, not of the request.
  ServiceQuotaExceededException: 402,
  ServiceUnavailableException: 503,
  ThrottlingException: 429,
  ValidationException: 400,
};

/** A model that is not there, or not this way, is a 400 like any other; what it says is about the configuration. */
const unknownModel = /model identifier is invalid|on-demand throughput isn.t supported/i;

/**
 * @param status of the answer; undefined for an error inside of a 200
 * @param named what the frame calls it
 */
export function converseError(status: number | undefined, body: unknown, named?: string): ProviderError {
  const fields: JsonObject = isObject(body) ? body : {};
  const code = nameOf(named ?? text(fields["__type"]));
  const message = text(fields.message) || text(fields.Message);
  const stated = statuses[code] ?? (status === 424 ? 500 : status);
  const known = stated === 400 && unknownModel.test(message) ? 404 : stated;
  return { ...(known !== undefined && { status: known }), ...(code !== "" && { code }), message };
}

/** The name that an answer has in its head. */
export const errorTypeOf = (headers: IncomingHttpHeaders): string | undefined => headerOf(headers, "x-amzn-errortype");

/** "com.amazon.coral.service#ThrottlingException", "ThrottlingException:http://…" and "throttlingException" are one name. */
function nameOf(said: string): string {
  const name = (said.split("#").at(-1) ?? "").split(":", 1)[0] ?? "";
  return name.charAt(0).toUpperCase() + name.slice(1);
}
