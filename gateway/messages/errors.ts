/** Failures in Anthropic's form: `{"type": "error", "error": {"type", "message"}, "request_id"}`. */
import { errorTypeOf } from "@sluice/proto/contract/messages/error.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { AnswerIds, FaultForm } from "../http/errors.ts";
import { serviceMetadataMembers } from "@sluice/proto/runtime/responses/service-metadata.js";

/** The members of a failure, in an answer and in a stream. */
export function failureJson(fault: Fault, { requestId, metadataAlias, usageJson }: AnswerIds = {}): string {
  const { status, message, metadata } = fault;
  const { details, ...rest } = metadata ?? { error_type: fault.errorType };
  const error = { type: errorTypeOf(status), message, details, metadata: status === 401 ? undefined : rest };
  return (
    `{"type":"error","error":${JSON.stringify(error)}` +
    (usageJson === undefined ? "" : `,"usage":${usageJson}`) +
    (requestId === undefined ? "" : `,"request_id":${JSON.stringify(requestId)}`) +
    `${serviceMetadataMembers(fault.serviceMetadataJson, metadataAlias)}}`
  );
}

export const messagesFaults: FaultForm = {
  requestIdHeader: "request-id",
  body: (fault, ids) => Buffer.from(failureJson(fault, ids)),
};
