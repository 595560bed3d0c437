/** The reasoning effort that a request asks for, as far as the model knows it. */
import { type ReasoningEffort, effortUpdates, requestedEffort } from "../../turn/parse/effort.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type TranslationContext, supports } from "./context.ts";

export type { ReasoningEffort } from "../../turn/parse/effort.ts";

/** A `configuration_update` in the input changes the effort from there on; the last one counts for the next answer. */
export function lastEffort(
  request: TurnRequest,
  { target, onDropped }: TranslationContext,
): ReasoningEffort | undefined {
  const reasons = !target.supportedParameters || supports(target, "reasoning");
  let effort = requestedEffort(request);
  for (const update of effortUpdates(request)) {
    if (reasons) effort = { value: update.value, path: `${update.path}.reasoning.effort` };
    else onDropped(update.path, "the endpoint does not support it");
  }
  return effort && { ...effort, value: knownEffort(effort, target, onDropped) };
}

/** From the least to the most. */
const levels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const levelPrefix = "reasoning.effort.";

/** Whether the endpoint names the levels that its model takes. */
export const namesEfforts = ({ supportedParameters }: Target): boolean =>
  supportedParameters?.some((name) => name.startsWith(levelPrefix)) === true;

/**
 * The level itself, or the nearest one where the endpoint names the levels that its model takes. A model that is to think is never kept from it.
 */
export function knownEffort({ value, path }: ReasoningEffort, target: Target, onDropped: OnDropped): string {
  const knows = (level: string) => supports(target, levelPrefix + level);
  const wanted = levels.indexOf(value);
  if (wanted < 0 || !namesEfforts(target) || knows(value) || (value === "none" && stops(target))) return value;
  const distance = (level: string) => Math.abs(levels.indexOf(level) - wanted);
  const known = levels.slice(value === "none" ? 0 : 1).filter(knows);
  const [nearest = value] = known.toSorted((one, other) => distance(one) - distance(other));
  if (nearest !== value) onDropped(path, `sent as ${nearest}: the model has no such level`);
  return nearest;
}

/** Whether the format has another field that keeps the model from thinking. */
const stops = (target: Target): boolean =>
  supports(target, "thinking.disabled") || supports(target, "thinking.between_tools");
