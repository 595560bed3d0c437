/** Errors in Anthropic's form: `{"type": "error", "error": {"type", "message"}, "request_id"}`. */
import { errorTypeOf } from "../../contract/messages/error.ts";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { AnswerIds, FaultForm } from "../../edge/http/errors.ts";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";

/** The members of an error, in an answer and in a stream. */
export function failureJson(fault: Fault, { requestId, metadataAlias, usageJson }: AnswerIds = {}): string {
  const { status, metadata } = fault;
  const overflow = describeOverflow(fault);
  const message = overflow ?? fault.message;
  const { details, ...known } = metadata ?? { error_type: fault.errorType };
  const rest = message === fault.message ? known : { ...known, provider_message: fault.message };
  const error = { type: errorTypeOf(status), message, details, metadata: status === 401 ? undefined : rest };
  return (
    `{"type":"error","error":${JSON.stringify(error)}` +
    (usageJson === undefined ? "" : `,"usage":${usageJson}`) +
    (requestId === undefined ? "" : `,"request_id":${JSON.stringify(requestId)}`) +
    `${serviceMetadataMembers(fault.serviceMetadataJson, metadataAlias)}}`
  );
}

/**
 * Matches Anthropic's own error text for a prompt beyond the limit. The text must not change: Claude Code and other clients parse its figures and
 * then compact the conversation.
 */
const ownWords = /prompt is too long: \d+ tokens > \d+ maximum|exceed context limit: \d+ \+ \d+ > \d+/;

function describeOverflow({ metadata, message }: Fault): string | undefined {
  const { requested, maximum } = (metadata?.["context_length"] ?? {}) as Partial<
    Record<"requested" | "maximum", number>
  >;
  if (requested === undefined || maximum === undefined || ownWords.test(message)) return undefined;
  return `prompt is too long: ${requested} tokens > ${maximum} maximum`;
}

export const messagesFaults: FaultForm = {
  requestIdHeader: "request-id",
  body: (fault, ids) => Buffer.from(failureJson(fault, ids)),
};
