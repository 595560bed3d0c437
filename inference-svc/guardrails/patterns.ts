/** Patterns of filters, compiled: no pattern can hold up the process, whatever the text. */
import type { Finder } from "@sluice/proto/runtime/pattern/finder.js";
import { compilePattern } from "@sluice/proto/runtime/pattern/pattern.js";
import { notApplicable } from "./not-applicable.ts";

/** Keys with many guardrails share patterns; one takes some kilobytes, and with what it remembers of texts a megabyte or two. */
const maxCompiled = 1_000;

const compiled = new Map<string, Finder>();

/** Case counts unless the pattern says otherwise: (?i). @throws Fault UNAVAILABLE: a filter that cannot be applied is never skipped */
export function patternOf(source: string): Finder {
  const known = compiled.get(source);
  if (known) {
    // Kept in the order of their last use.
    compiled.delete(source);
    compiled.set(source, known);
    return known;
  }
  const pattern = compile(source);
  compiled.set(source, pattern);
  const oldest = compiled.keys().next();
  if (compiled.size > maxCompiled && oldest.done !== true) compiled.delete(oldest.value);
  return pattern;
}

function compile(source: string): Finder {
  try {
    return compilePattern(source);
  } catch (cause) {
    throw notApplicable(cause);
  }
}
