/** Reads errors of servers with the Responses API: error answers, and error events inside a stream. */
import type { ProviderError } from "../failure.ts";
import { isRefusedKey } from "../translate/refused-key.ts";
import { type JsonObject, isObject, text } from "../json.ts";

export function responsesError(status: number, body: unknown): ProviderError {
  const error = read(isObject(body) && isObject(body.error) ? body.error : {});
  // xAI writes the message in the field `error`.
  const message = error.message || text(isObject(body) ? body.error : undefined);
  return { ...error, message, status: isRefusedKey(status, message) ? 401 : status };
}

/** Reads an error event. `response.failed` has the error in its response; `error` is flat, or nested at some servers. */
export function inBandError(event: JsonObject): ProviderError {
  const response = isObject(event.response) ? event.response : event;
  return read(isObject(response.error) ? response.error : response);
}

/** Error codes in `response.failed` that the request has caused, as with a status 400. */
const ofRequest: ReadonlySet<string> = new Set([
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "invalid_image_mode",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "image_file_too_large",
  "image_file_not_found",
  "unsupported_image_media_type",
  "empty_image_file",
  "failed_to_download_image",
  "image_content_policy_violation",
  "bio_policy",
  "cyber_policy",
  "misalignment_policy_violation",
]);

const statusOf = (code: string): number | undefined => {
  if (ofRequest.has(code)) return 400;
  return code === "vector_store_timeout" ? 504 : undefined;
};

function read(error: JsonObject): ProviderError {
  const code = text(error.code) || text(error.type);
  const status =
    [error.code, error.status].map(Number).find((number) => number >= 400 && number <= 599) ?? statusOf(code);
  return {
    ...(status !== undefined && { status }),
    ...(code !== "" && code !== "error" && { code }),
    message: text(error.message),
  };
}
