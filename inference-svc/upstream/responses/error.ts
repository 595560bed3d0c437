/** Errors of Responses servers: the body of an error answer, and the forms inside of a stream. */
import type { ProviderError } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";

export function responsesError(status: number, body: unknown): ProviderError {
  return { ...read(isObject(body) && isObject(body.error) ? body.error : {}), status };
}

/** `response.failed` holds it in its response; `error` is flat by the book and nested with some servers. */
export function inBandError(event: JsonObject): ProviderError {
  const response = isObject(event.response) ? event.response : event;
  return read(isObject(response.error) ? response.error : response);
}

function read(error: JsonObject): ProviderError {
  const code = text(error.code) || text(error.type);
  const status = [error.code, error.status].map(Number).find((number) => number >= 400 && number <= 599);
  return {
    ...(status !== undefined && { status }),
    ...(code !== "" && code !== "error" && { code }),
    message: text(error.message),
  };
}
