/**
 * Converts errors of AI SDK packages to faults. The error of a failed API call contains the provider's answer; other
 * errors come from the package itself.
 */
import { parseWithin } from "@sluice/proto/lib/json/values.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { chatError } from "../chat/error.ts";
import { type ProviderError, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { findRepeat } from "../transport/repeat.ts";
import { findProviderRequestId } from "../transport/provider-request-id.ts";
import { limitResetMs, retryAfterMs } from "../transport/retry-after.ts";

/** Names of errors about the request, which all packages share. */
const callers: ReadonlySet<string> = new Set(["AI_UnsupportedFunctionalityError", "AI_InvalidPromptError"]);

export function sdkFault(error: unknown): Fault {
  // The cause of a package's error may be a fault of the fetch that the package uses.
  const fault = findCause(error, (cause) => cause instanceof Fault);
  if (fault instanceof Fault) return fault;
  const { name, statusCode, message }: JsonObject =
    error instanceof Error || isObject(error) ? { ...fieldsOf(error) } : {};
  // An error response has a status even if its body is truncated.
  if (typeof statusCode === "number" && statusCode >= 400)
    return providerFault(answered(statusCode, error as JsonObject));
  if (callers.has(text(name))) return providerFault({ status: 400, message: text(message) });
  return providerFailed(text(name) || "no error of a package", error);
}

/** The fault of a failed call, which also tells whether the call may be repeated. */
export function requestFault(error: unknown): Fault {
  const socket = socketError(error);
  const failure = socket ? providerFailed("no connection", socket) : sdkFault(error);
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  const repeat = findRepeat({ sent: socket === undefined, status: typeof status === "number" ? status : 0 }, failure);
  return repeat ? failure.with({ repeat }) : failure;
}

/** The connection error of a fetch. A refused connection is the only failure in which certainly nothing was sent. */
const socketError = (error: unknown): Error | undefined =>
  findCause(error, (cause) => (cause as NodeJS.ErrnoException).code === "ECONNREFUSED");

/** Finds the error itself or the first of its causes that meets the condition. */
function findCause(error: unknown, isWanted: (cause: Error) => boolean): Error | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (isWanted(cause)) return cause;
  return undefined;
}

/** Fields of an error as an object. These fields of an Error are not its own properties, so destructuring with a rest would lose them. */
const fieldsOf = (error: JsonObject | Error): JsonObject => ({
  name: (error as JsonObject).name,
  message: (error as JsonObject).message,
  statusCode: (error as JsonObject).statusCode,
});

/**
 * The provider's error in an answer. Nearly all of these vendors use the forms of chat completions; otherwise the
 * package's own message is used.
 */
function answered(status: number, { responseBody, responseHeaders, message }: JsonObject): ProviderError {
  const body = parsed(text(responseBody));
  const headers = isObject(responseHeaders) ? (responseHeaders as Record<string, string | undefined>) : {};
  const fields = { first: (name: string) => headers[name] };
  const hint = retryAfterMs(fields);
  const reset = limitResetMs(fields);
  const read = chatError(status, body);
  return {
    ...read,
    message: read.message === "" || read.message === undefined ? text(message) : read.message,
    ...(hint !== undefined && { retryAfterMs: hint }),
    ...(reset !== undefined && { limitResetMs: reset }),
    requestId: findProviderRequestId(fields),
  };
}

function parsed(json: string): unknown {
  try {
    return parseWithin(json);
  } catch {
    return undefined;
  }
}
