/** How much thought a request is worth, in its own words. */
import type { TurnRequest } from "../turn/request.ts";
import { isObject, text } from "./json.ts";
import { type Words, supports } from "./words.ts";

export interface Effort {
  readonly value: string;
  /** As in the request. */
  readonly path: string;
}

/** What was changed on the way counts from there on: for the answer that comes now it is the last change. */
export function lastEffort(request: TurnRequest, { target, lose }: Words): Effort | undefined {
  const asked = request.reasoning?.effort;
  let effort: Effort | undefined = asked === undefined ? undefined : { value: asked, path: "reasoning.effort" };
  for (const [index, { type, reasoning }] of request.input.entries()) {
    if (type !== "configuration_update" || !isObject(reasoning)) continue;
    const path = `input.${index}`;
    if (target.supportedParameters && !supports(target, "reasoning")) lose(path, "the endpoint does not support it");
    else effort = { value: text(reasoning.effort), path: `${path}.reasoning.effort` };
  }
  return effort;
}
