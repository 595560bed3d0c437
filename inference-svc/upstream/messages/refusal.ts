/** What cannot be said in the format at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { isWebSearch } from "../offered.ts";
import { inputRefusal, toolRefusal } from "../refused.ts";
import { markRefusal } from "./cache-marks.ts";
import { partRefusal } from "./parts.ts";
import { searches } from "./web-search.ts";

export function messagesRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal = toolRefusal(request, { tool: (tool) => searches(tool, target), type: isWebSearch });
  if (refusal) return refusal;
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  return inputRefusal(request.input, partRefusal) ?? markRefusal(request.input);
}
