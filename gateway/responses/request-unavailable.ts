/** What a well-formed request can ask for and nobody here does yet: refused by name, because ignoring it would change the answer. */
import { plugins } from "@sluice/proto/contract/plugins.js";
import { provider } from "@sluice/proto/contract/provider.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Shape } from "@sluice/proto/runtime/validation/shape.js";

const notYet = "is not available yet";

export function checkUnavailable(request: JsonObject, problems: Problems): void {
  checkPlugins(request["plugins"], problems);
  checkProvider(request["provider"], problems);
}

/** What is wrong with it has been said already: one problem for each thing. */
const isWrong = (shape: Shape, value: unknown): boolean => {
  const problems = new Problems();
  shape.check(value, "", problems);
  return !problems.empty;
};

function checkPlugins(value: unknown, problems: Problems): void {
  if (!Array.isArray(value)) return;
  for (const [index, entry] of value.entries()) {
    if (!isObject(entry) || entry["enabled"] === false || isWrong(plugins, [entry])) continue;
    problems.add(`plugins.${index}`, `plugin ${String(entry["id"])} ${notYet}`);
  }
}

function checkProvider(value: unknown, problems: Problems): void {
  if (!isObject(value)) return;
  for (const [name, preference] of Object.entries(value)) {
    if (preference === null || isWrong(provider, { [name]: preference })) continue;
    problems.add(`provider.${name}`, notYet);
  }
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
