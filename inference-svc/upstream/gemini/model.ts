/** What differs between the generations of the family, told by the name of the model. */
import type { Target } from "../dialect.ts";
import { supports } from "../words.ts";

const budgeted = /(^|\/)gemini-2\.5-/;

/** Models of 2.5 take a budget of thought, later ones a level; the other of the two is a 400 to each. */
export const takesBudget = (target: Target): boolean =>
  budgeted.test(target.upstreamModel) || supports(target, "reasoning.max_tokens");

/** Models that answer 400 to a call of theirs that comes back unsigned (https://ai.google.dev/gemini-api/docs/thought-signatures). */
export const wantsSignatures = ({ upstreamModel }: Target): boolean =>
  /(^|\/)gemini-(?:[3-9]|\d\d)/.test(upstreamModel) || /(^|\/)gemini-[a-z-]*latest$/.test(upstreamModel);
