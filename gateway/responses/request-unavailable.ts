/** What a well-formed request can ask for and nobody here does yet: refused by name, because ignoring it would change the answer. */
import { plugins } from "@sluice/proto/contract/plugins.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";

export function checkUnavailable({ plugins: value }: JsonObject, problems: Problems): void {
  if (!Array.isArray(value)) return;
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry) || entry["enabled"] === false || isWrong(entry)) continue;
    problems.add(`plugins.${index}`, `plugin ${String(entry["id"])} is not available yet`);
  }
}

/** What is wrong with it has been said already: one problem for each thing. */
function isWrong(plugin: JsonObject): boolean {
  const problems = new Problems();
  plugins.check([plugin], "", problems);
  return !problems.empty;
}

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
