/** What cannot be said in chat at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { inputRefusal, runsNone, toolRefusal } from "../refused.ts";
import { partRefusal } from "./parts.ts";

export function chatRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal = toolRefusal(request, runsNone) ?? inputRefusal(request.input, (part) => partRefusal(part, target));
  if (refusal) return refusal;
  return target.original && request.outputModalities.includes("image")
    ? { path: "modalities", message: "no provider of this model gives images" }
    : undefined;
}
