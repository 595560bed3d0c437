/** Precision and recall of one detector, or of another finder of the same content. */
import { handWrittenCases } from "./corpus.ts";
import { generatedCases } from "./generated/index.ts";
import { type Find, type Quality, qualityOf } from "./quality.ts";

/** Detectors without exact ends of a finding: people would mark different words of an attempt, so a finding that touches a mark counts. */
const withoutEnds: ReadonlySet<string> = new Set(["regex-prompt-injection"]);

export interface DetectorFigures {
  readonly byHand: Quality;
  readonly generated: Quality;
}

export const measureDetector = (slug: string, find: Find): DetectorFigures => ({
  byHand: qualityOf(find, handWrittenCases(slug), withoutEnds.has(slug)),
  generated: qualityOf(find, generatedCases(slug), withoutEnds.has(slug)),
});
