/** Errors of the packages: an API call that failed carries the provider's answer, everything else is the package's own. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import { chatError } from "../chat/error.ts";
import { type ProviderError, providerFailed, providerFault } from "../failure.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { repeatOf } from "../repeat.ts";
import { retryAfterMs } from "../retry-after.ts";

/** Mistakes in what was asked, by the names that the packages share. */
const callers: ReadonlySet<string> = new Set(["AI_UnsupportedFunctionalityError", "AI_InvalidPromptError"]);

export function sdkFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { name, statusCode, message }: JsonObject =
    error instanceof Error || isObject(error) ? { ...fieldsOf(error) } : {};
  // An answer that could not be read to its end has a status, too.
  if (typeof statusCode === "number" && statusCode >= 400)
    return providerFault(answered(statusCode, error as JsonObject));
  if (callers.has(text(name))) return providerFault({ status: 400, message: text(message) });
  return providerFailed(text(name) || "no error of a package", error);
}

/** Of a call that was not answered, or with an error: says whether it may be repeated. */
export function askingFault(error: unknown): Fault {
  const socket = socketError(error);
  const failure = socket ? providerFailed("no connection", socket) : sdkFault(error);
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  const repeat = repeatOf({ sent: socket === undefined, status: typeof status === "number" ? status : 0 }, failure);
  return repeat ? failure.with({ repeat }) : failure;
}

/** The one failure of fetch after which nothing can have been sent. */
function socketError(error: unknown): Error | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as NodeJS.ErrnoException).code === "ECONNREFUSED") return cause;
  }
  return undefined;
}

/** Those of an error are not its own members. */
const fieldsOf = (error: JsonObject | Error): JsonObject => ({
  name: (error as JsonObject).name,
  message: (error as JsonObject).message,
  statusCode: (error as JsonObject).statusCode,
});

/** Nearly all of these vendors answer in the shapes of chat; where one does not, the package's own reading of it is left. */
function answered(status: number, { responseBody, responseHeaders, message }: JsonObject): ProviderError {
  const body = parsed(text(responseBody));
  const hint = isObject(responseHeaders) ? retryAfterMs(responseHeaders as Record<string, string>) : undefined;
  const read = chatError(status, body);
  return {
    ...read,
    message: read.message === "" || read.message === undefined ? text(message) : read.message,
    ...(hint !== undefined && { retryAfterMs: hint }),
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
