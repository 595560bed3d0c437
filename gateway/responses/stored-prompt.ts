/** `prompt`: well-formed, and of nothing that there is. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";

/** Stored prompts are looked up, and none is there; for a request that is right otherwise. @throws Fault NOT_FOUND */
export function refusePrompt(request: JsonObject): void {
  const prompt = request["prompt"];
  if (!isObject(prompt)) return;
  throw new Fault(
    FaultReason.NOT_FOUND,
    `prompt ${String(prompt["id"]).slice(0, 256)} not found: no prompts are stored`,
    { origin: FaultOrigin.CLIENT, metadata: { error_type: "not_found", param: "prompt" } },
  );
}
