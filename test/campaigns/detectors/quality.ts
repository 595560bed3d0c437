/** Precision and recall of a finder. A mark counts as found when all of it was found; a finding counts as right when it touches a mark. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { LabelledText } from "./corpus.ts";

export interface Quality {
  readonly cases: number;
  readonly negatives: number;
  /** Share of correct findings; 1 without findings. */
  readonly precision: number;
  /** Share of the marked spans that were found. */
  readonly recall: number;
  /** Wrong cases, with the missed and the false findings. */
  readonly wrong: readonly { text: string; missed: readonly string[]; false: readonly string[] }[];
}

export type Find = (text: string) => readonly TextSpan[];

const touches = (one: TextSpan, other: TextSpan): boolean => one.start < other.end && other.start < one.end;
const covers = (spans: readonly TextSpan[], { start, end }: TextSpan): boolean => {
  let place = start;
  for (const span of spans) if (span.start <= place && span.end > place) place = span.end;
  return place >= end;
};

/** @param touched whether a partial overlap counts as found, for findings without exact ends */
export function qualityOf(find: Find, cases: readonly LabelledText[], touched = false): Quality {
  let [expected, found, missed, wrong] = [0, 0, 0, 0];
  const bad: { text: string; missed: string[]; false: string[] }[] = [];
  for (const { text, expected: marks } of cases) {
    const spans = find(text);
    const isFound = (mark: TextSpan) => (touched ? spans.some((span) => touches(mark, span)) : covers(spans, mark));
    const out = marks.filter((mark) => !isFound(mark));
    const extra = spans.filter((span) => !marks.some((mark) => touches(mark, span)));
    expected += marks.length;
    found += spans.length;
    missed += out.length;
    wrong += extra.length;
    const words = (parts: readonly TextSpan[]) => parts.map(({ start, end }) => text.slice(start, end));
    if (out.length + extra.length > 0) bad.push({ text, missed: words(out), false: words(extra) });
  }
  return {
    cases: cases.length,
    negatives: cases.filter((one) => one.expected.length === 0).length,
    precision: found === 0 ? 1 : 1 - wrong / found,
    recall: expected === 0 ? 1 : 1 - missed / expected,
    wrong: bad,
  };
}
