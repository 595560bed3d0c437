/**
 * A second opinion on attempts at prompt injection, for wordings that nobody has listed: stretches of a text that score
 * above what a hundredth of harmless texts reaches. A hint and no verdict.
 */
import type { Finder } from "@sluice/proto/runtime/pattern/finder.js";
import { bias, scale, threshold, weights } from "./gen/weights.ts";
import { read } from "./model.ts";
import { scorerOf } from "./scan.ts";

export const injectionScorer: Finder = scorerOf(read(weights, scale, bias), threshold);
