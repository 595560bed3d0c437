/** The figures of one detector, or of another finder of the same things. */
import { handWrittenCases } from "./corpus.ts";
import { generatedCases } from "./generated/index.ts";
import { type Find, type Quality, qualityOf } from "./quality.ts";

/** No two readers would mark the same words of an attempt: touching one is finding it. */
const withoutEnds: ReadonlySet<string> = new Set(["regex-prompt-injection"]);

export interface DetectorFigures {
  readonly byHand: Quality;
  readonly generated: Quality;
}

export const measureDetector = (slug: string, find: Find): DetectorFigures => ({
  byHand: qualityOf(find, handWrittenCases(slug), withoutEnds.has(slug)),
  generated: qualityOf(find, generatedCases(slug), withoutEnds.has(slug)),
});
