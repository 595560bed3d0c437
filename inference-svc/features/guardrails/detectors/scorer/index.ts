/**
 * Scores texts for prompt injection in wordings that are in no list. A text is flagged when its score is higher than
 * that of 99 % of harmless texts: a hint, never a verdict.
 */
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { bias, scale, threshold, weights } from "./gen/weights.ts";
import { decodeModel } from "./model.ts";
import { buildScorer } from "./scan.ts";

export const injectionScorer: Finder = buildScorer(decodeModel(weights, scale, bias), threshold);
