/** The dialect of servers with Anthropic's Messages API. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Dialect, Refusal, Target } from "../dialect.ts";
import { refuseCacheMarks } from "../translate/blocks/cache-marks.ts";
import { refuseBlank, refuseInput, refuseTools } from "../translate/unsupported-inputs.ts";
import { serverSentEvents } from "../transport/sse.ts";
import { betaHeader } from "./betas.ts";
import { messagesError } from "./error.ts";
import { isHosted, runsHosted } from "./native-tools.ts";
import { refuseMessagesPart } from "./parts.ts";
import { messagesBody } from "./request.ts";
import { MessagesTranslator } from "./stream.ts";

/**
 * The API version requested: other servers of the format know it, and it is the last one with sampling parameters, to
 * which 2026-10-21 answers 400 (https://platform.claude.com/docs/en/api/versioning). Published versions do not change.
 */
const version = "2023-06-01";

export const messages: Dialect = {
  path: () => "/messages",
  framing: serverSentEvents,
  headers: (key) => ({ "anthropic-version": version, ...(key !== undefined && { "x-api-key": key }) }),
  requestHeaders: betaHeader,
  vendor: "anthropic",
  refusal: refuseMessages,
  body: messagesBody,
  open: (request, target, emit) => new MessagesTranslator(request, target, emit),
  error: messagesError,
};

export function refuseMessages(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal = refuseTools(request, { tool: (tool) => runsHosted(tool, target), type: isHosted });
  if (refusal) return refusal;
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  return (
    refuseInput(request.input, (part) => refuseMessagesPart(part, target)) ??
    refuseBlank(request) ??
    refuseCacheMarks(request)
  );
}
