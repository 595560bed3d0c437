/** What cannot be said in the format at all: leaving it out would change what was asked. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { type JsonObject, isObject } from "../json.ts";
import { isWebSearch } from "../offered.ts";
import { inputRefusal, partsOf, toolRefusal } from "../refused.ts";
import { maxMarks } from "./cache-marks.ts";
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

function markRefusal(input: readonly InputItem[]): Refusal | undefined {
  let marks = 0;
  for (const [path, part] of input.flatMap((item, index) => partsOf(item, `input.${index}`))) {
    const mark = markOf(part);
    if (mark !== undefined && ++marks > maxMarks) {
      return { path: `${path}.${mark}`, message: `no provider of this model takes more than ${maxMarks} marks` };
    }
  }
  return undefined;
}

const markOf = (part: JsonObject): string | undefined =>
  ["cache_control", "prompt_cache_breakpoint"].find((field) => isObject(part[field]));
