/** The service tier of an answer, and whether a request wants log probabilities. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";

const tiers: ReadonlySet<unknown> = new Set(["default", "priority", "flex", "scale", "ultrafast"]);

/** The service tier the provider reports; the endpoint's own tier when the report is unusable, such as "auto". */
export const servedTier = (reported: unknown, target: Target): string =>
  tiers.has(reported) ? String(reported) : target.tier;

/** Whether log probabilities are passed on, because some providers send them unrequested. */
export const wantsLogprobs = (request: TurnRequest): boolean =>
  (request.topLogprobs ?? 0) > 0 || request.include.includes("message.output_text.logprobs");
