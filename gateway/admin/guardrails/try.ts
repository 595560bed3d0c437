/** Answers POST /guardrails/try: admin-svc checks the guardrail, and an inference process applies it to the text. */
import { create } from "@bufbuild/protobuf";
import type { trialRequest } from "@sluice/proto/contract/request/guardrail-trial.js";
import { newGuardrailMessage } from "@sluice/proto/contract/records/guardrail-record.js";
import { GuardrailService } from "@sluice/proto/gen/sluice/admin/v1/guardrail_service_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { Accepted } from "@sluice/proto/lib/validation/shape.js";
import type { OperationCall } from "../../edge/http/context.ts";
import { checkDetectors } from "./detectors.ts";

const checkTimeoutMs = 10_000;
/** Inference-svc limits a trial to 60 s. */
const trialTimeoutMs = 65_000;

type Body = Accepted<typeof trialRequest>;

/** Applies a stored guardrail, or the guardrail in the request, to a text. @throws Fault */
export async function tryGuardrail({
  parts: { admin, inference, token, detectors },
  caller,
  body,
}: OperationCall<string, unknown, Body>): Promise<object> {
  const metadata = serviceMetadata(token, caller);
  const { checkGuardrail } = GuardrailService.method;
  const { guardrail } = await call(
    admin,
    checkGuardrail,
    create(checkGuardrail.input, guardrailOf(body, detectors)),
    metadata,
    checkTimeoutMs,
  );
  const text = body["text"] as string | readonly string[];
  const pieces = typeof text === "string" ? [text] : [...text];
  const { tryGuardrail: method } = InferenceService.method;
  const request = create(method.input, { side: body.side ?? "input", pieces, ...(guardrail && { guardrail }) });
  const { resultJson } = await call(inference, method, request, metadata, trialTimeoutMs);
  return { data: JSON.parse(Buffer.from(resultJson).toString()) as unknown };
}

/** The guardrail of the request, or a reference to a stored one. @throws Fault INVALID_REQUEST */
function guardrailOf({ guardrail_id: guardrailId, guardrail }: Body, detectors: Parameters<typeof checkDetectors>[1]) {
  if (guardrail === undefined) return { guardrailId: guardrailId ?? "" };
  checkDetectors(guardrail, detectors);
  return { guardrail: newGuardrailMessage({ name: "trial", ...guardrail }) };
}
