/** The reasoning effort that a request asks for. */
import { knownTexts } from "../../turn/parse/beginnings.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { isObject, text } from "../json.ts";
import { type TranslationContext, supports } from "./context.ts";

export interface ReasoningEffort {
  readonly value: string;
  /** Path in the request. */
  readonly path: string;
}

/** A `configuration_update` in the input changes the effort from there on; the last one counts for the next answer. */
export function lastEffort(
  request: TurnRequest,
  { target, onDropped }: TranslationContext,
): ReasoningEffort | undefined {
  const requested = request.reasoning?.effort;
  let effort: ReasoningEffort | undefined =
    requested === undefined ? undefined : { value: requested, path: "reasoning.effort" };
  for (let index = knownTexts(request.input); index < request.input.length; index++) {
    const { type, reasoning } = request.input[index] as InputItem;
    if (type !== "configuration_update" || !isObject(reasoning)) continue;
    const path = `input.${index}`;
    if (target.supportedParameters && !supports(target, "reasoning"))
      onDropped(path, "the endpoint does not support it");
    else effort = { value: text(reasoning.effort), path: `${path}.reasoning.effort` };
  }
  return effort;
}
