/** What request and answer have to agree on in every dialect. */
import type { TurnRequest } from "../turn/request.ts";
import type { Target } from "./dialect.ts";

const tiers: ReadonlySet<unknown> = new Set(["default", "priority", "flex", "scale", "ultrafast"]);

/** The tier that the provider says it served with; the endpoint's own when it says nothing usable, such as "auto". */
export const servedTier = (said: unknown, target: Target): string => (tiers.has(said) ? String(said) : target.tier);

/** Providers send log probabilities unasked, too. */
export const wantsLogprobs = (request: TurnRequest): boolean =>
  (request.topLogprobs ?? 0) > 0 || request.include.includes("message.output_text.logprobs");
