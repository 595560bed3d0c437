/** Scores prompt injection in wordings missing from every list. It flags a text with a higher score than 99 % of harmless texts: a hint, never a verdict. */
import type { Finder } from "@sluice/proto/lib/pattern/finder.js";
import { bias, scale, threshold, weights } from "./gen/weights.ts";
import { decodeModel } from "./model.ts";
import { buildScorer } from "./scan.ts";

export const injectionScorer: Finder = buildScorer(decodeModel(weights, scale, bias), threshold);
