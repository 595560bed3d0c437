/** The requested reasoning effort, as far as the model knows it. */
import { type ReasoningEffort, effortUpdates, requestedEffort } from "../../../turn/parse/effort.ts";
import { textOnly } from "../../../turn/parse/text-only.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type TranslationContext, supportsParameter } from "./context.ts";

export type { ReasoningEffort } from "../../../turn/parse/effort.ts";

/** The effort for the next answer: a `configuration_update` in the input changes it from there on, and the last one counts. */
export function lastEffort(
  request: TurnRequest,
  { target, onDropped }: TranslationContext,
): ReasoningEffort | undefined {
  if (request.reasoning === undefined && textOnly.of(request.input)) return undefined;
  const reasons = !target.supportedParameters || supportsParameter(target, "reasoning");
  let effort = requestedEffort(request);
  for (const update of effortUpdates(request)) {
    if (reasons) effort = { value: update.value, path: `${update.path}.reasoning.effort` };
    else onDropped(update.path, "the endpoint does not support it");
  }
  return effort && { ...effort, value: knownEffort(effort, target, onDropped) };
}

/** Whether a summary of the reasoning is requested; "omitted" requests none. */
export const asksForSummary = (summary: string | undefined): boolean => summary !== undefined && summary !== "omitted";

/** Levels of effort, from the least to the most. */
const levels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const levelPrefix = "reasoning.effort.";

/** Whether the configuration lists the effort levels of the endpoint's model. */
export const namesEfforts = ({ supportedParameters }: Target): boolean =>
  supportedParameters?.some((name) => name.startsWith(levelPrefix)) === true;

/**
 * The level itself, or the nearest one if the configuration lists the levels of the endpoint's model. Requested
 * reasoning is never turned off.
 */
export function knownEffort({ value, path }: ReasoningEffort, target: Target, onDropped: OnDropped): string {
  const knows = (level: string) => supportsParameter(target, levelPrefix + level);
  const wanted = levels.indexOf(value);
  if (wanted < 0 || !namesEfforts(target) || knows(value) || (value === "none" && stops(target))) return value;
  const distance = (level: string) => Math.abs(levels.indexOf(level) - wanted);
  const known = levels.slice(value === "none" ? 0 : 1).filter(knows);
  const [nearest = value] = known.toSorted((one, other) => distance(one) - distance(other));
  if (nearest !== value) onDropped(path, `sent as ${nearest}: the model has no such level`);
  return nearest;
}

/** Whether the format has another field for turning reasoning off. */
const stops = (target: Target): boolean =>
  supportsParameter(target, "thinking.disabled") || supportsParameter(target, "thinking.between_tools");
