/**
 * A trial of one disguised text: delivered in pieces, it must equal the text delivered at once, with every secret replaced and everything else
 * unchanged.
 */
import { GuardedTexts } from "@sluice/inference-svc/features/guardrails/output/guarded-texts.js";
import { TextPart } from "@sluice/inference-svc/features/guardrails/output/text-part.js";
import { Report } from "@sluice/inference-svc/features/guardrails/output/rules/report.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { type DisguisedText, hiddenSecrets } from "./disguises.ts";
import { type PatternTally, runToEnd, redactRule } from "./trial.ts";

const rules = hiddenSecrets.map((secret, index) => redactRule(secret, compilePattern(secret), index));

/** @returns the fault that the text shows; undefined if there is none */
export function disguiseTrial({ hidden, pieces }: DisguisedText, tally: PatternTally): string | undefined {
  const text = pieces.join("");
  let expected = "";
  let rest = text;
  for (const { secret, written } of hidden) {
    const at = rest.indexOf(written);
    expected += `${rest.slice(0, at)}<${hiddenSecrets.indexOf(secret)}>`;
    rest = rest.slice(at + written.length);
  }
  expected += rest;
  tally.runs++;
  tally.pieces += pieces.length;
  tally.matches += hidden.length;
  return delivered(pieces, expected, tally) ?? delivered([text], expected, tally);
}

function delivered(pieces: readonly string[], expected: string, tally: PatternTally): string | undefined {
  let shown = "";
  const channel = new GuardedTexts(rules, new Report());
  const part = new TextPart("text", { joinKey: "text", item: 0 }, (text) => (shown += text));
  for (const piece of pieces) {
    runToEnd(channel.push(part, piece));
    if (pieces.length > 1) tally.held += channel.held;
    if (!expected.startsWith(shown)) break;
  }
  runToEnd(channel.end());
  if (shown === expected) return undefined;
  return `delivered ${JSON.stringify(shown)} instead of ${JSON.stringify(expected)}, in ${JSON.stringify(pieces)}`;
}
