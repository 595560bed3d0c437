/** The reasoning efforts requested by the settings of a request, and by items of its input. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem, TurnRequest } from "../request.ts";
import { knownTexts } from "./beginnings.ts";

export interface ReasoningEffort {
  readonly value: string;
  /** Path in the request. */
  readonly path: string;
}

export const requestedEffort = ({ reasoning }: TurnRequest): ReasoningEffort | undefined =>
  reasoning?.effort === undefined ? undefined : { value: reasoning.effort, path: "reasoning.effort" };

/** The changes of effort by items of the input, each with the path of its item. */
export function effortUpdates({ input }: TurnRequest): readonly ReasoningEffort[] {
  const updates: ReasoningEffort[] = [];
  for (let index = knownTexts(input); index < input.length; index++) {
    const { type, reasoning } = input[index] as InputItem;
    if (type !== "configuration_update" || !isObject(reasoning)) continue;
    const { effort } = reasoning;
    updates.push({ value: typeof effort === "string" ? effort : "", path: `input.${index}` });
  }
  return updates;
}

/** The effort the request sets last, whether the model supports it or not. */
export const lastRequestedEffort = (request: TurnRequest): string | undefined =>
  (effortUpdates(request).at(-1) ?? requestedEffort(request))?.value;
