/** Runs a finder over a text, whole or in pieces, and checks the promises of finding in pieces. */
import type { Finder, Found, TextSpan } from "@sluice/proto/lib/pattern/finder.js";

export function findSpans(finder: Finder, pieces: readonly string[]): readonly TextSpan[] {
  const scan = finder.open();
  const spans: TextSpan[] = [];
  let decided = 0;
  let come = 0;
  const take = (found: Found) => {
    for (const span of found.spans) {
      if (span.start < decided) throw new Error(`${span.start} was decided before: ${decided}`);
      if (span.end <= span.start || span.end > come) throw new Error(`no span: ${span.start}-${span.end} of ${come}`);
      decided = span.end;
      spans.push(span);
    }
    if (found.decided < decided || found.decided > come) throw new Error(`decided: ${found.decided} of ${come}`);
    decided = found.decided;
  };
  for (const piece of pieces) {
    come += piece.length;
    take(scan.push(piece));
  }
  take(scan.end());
  if (decided !== come) throw new Error(`${come - decided} units of the whole text were never decided`);
  return spans;
}
