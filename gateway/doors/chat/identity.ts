/** The parts of a completion other than the model's output. */
import type { TurnEnd, Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { TurnStatus } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import { type FieldNames, nameReceiptFields } from "../../edge/turns/field-names.ts";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { AnswerForm } from "./request.ts";
import { completionUsageJson } from "./usage.ts";

export interface CompletionIdentity {
  /** Id of the completion, `chatcmpl-...`. */
  readonly id: string;
  /** Time of creation in seconds since 1970. */
  readonly createdAt: number;
  /** Slug of the model as requested. */
  readonly model: string;
  readonly form: AnswerForm;
  /** Second name under which the answer contains `service_metadata`. */
  readonly metadataAlias: string | undefined;
  readonly names: FieldNames;
}

/** @param called whether the answer calls tools of the client */
export function finishReason({ status, incompleteReason }: TurnEnd, called: boolean, { oldCalls }: AnswerForm): string {
  if (status !== TurnStatus.COMPLETED) return incompleteReason === "content_filter" ? "content_filter" : "length";
  if (!called) return "stop";
  return oldCalls ? "function_call" : "tool_calls";
}

/** `usage` at the end of an answer, with a leading comma. */
export const usageMember = (end: TurnEnd, usage: Usage | undefined): string =>
  `,"usage":${completionUsageJson(end.usage ?? usage)}`;

/** The other members at the end of an answer, with leading commas. */
export function closingMembers(
  end: TurnEnd,
  { metadataAlias, names }: Pick<CompletionIdentity, "metadataAlias" | "names">,
): string {
  const { serviceTier, alignmentJson, serviceMetadataJson: receipt } = end;
  return (
    `,"service_tier":${JSON.stringify(serviceTier || "default")}` +
    (alignmentJson.length > 0 ? `,"alignment":${textOf(alignmentJson)}` : "") +
    serviceMetadataMembers(nameReceiptFields(receipt, names), metadataAlias)
  );
}
