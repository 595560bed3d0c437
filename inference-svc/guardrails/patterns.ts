/** Block patterns, compiled by an engine that is linear in the text: no pattern can hold up the process. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { RE2JS } from "re2js";

/** Keys with many guardrails share patterns; a program takes some kilobytes. */
const maxCompiled = 1_000;

const compiled = new Map<string, RE2JS>();

/** Case counts unless the pattern says otherwise: (?i). @throws Fault UNAVAILABLE: a filter that cannot be applied is never skipped */
export function patternOf(source: string): RE2JS {
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

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    throw new Fault(FaultReason.UNAVAILABLE, "The key's guardrail cannot be applied", {
      origin: FaultOrigin.INFERENCE,
      shouldRetry: false,
      cause,
    });
  }
}
