/** Rejects requests with a stored prompt: Sluice stores none. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";

/** Call it last, for an otherwise valid request. @throws Fault NOT_FOUND */
export function refusePrompt({ prompt }: { readonly prompt: JsonObject | null | undefined }): void {
  if (!isObject(prompt)) return;
  throw new Fault(
    FaultReason.NOT_FOUND,
    `prompt ${String(prompt["id"]).slice(0, 256)} not found: no prompts are stored`,
    { origin: FaultOrigin.CLIENT, metadata: { error_type: "not_found", param: "prompt" } },
  );
}
