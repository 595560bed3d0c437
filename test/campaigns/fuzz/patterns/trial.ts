/** A trial of one case: matches and deliveries piece by piece, compared with the native engine on the whole text. */
import { create } from "@bufbuild/protobuf";
import { GuardedTexts } from "@sluice/inference-svc/features/guardrails/output/guarded-texts.js";
import { TextPart } from "@sluice/inference-svc/features/guardrails/output/text-part.js";
import { Report } from "@sluice/inference-svc/features/guardrails/output/rules/report.js";
import type { OutputRule } from "@sluice/inference-svc/features/guardrails/output/rules/output-rules.js";
import { GuardrailSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Deobfuscator } from "@sluice/inference-svc/features/guardrails/output/forms/deobfuscator.js";
import { filterActions } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { Finder, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import { compilePattern } from "@sluice/proto/lib/pattern/pattern.js";
import { PatternError } from "@sluice/proto/lib/pattern/refusal.js";
import type { PatternCase } from "./generate.ts";
import { Native } from "./native.ts";

/** Sums over all trials. */
export interface PatternTally {
  /** Number of texts, each under the patterns of its case. */
  runs: number;
  matches: number;
  pieces: number;
  /** UTF-16 units held back after a piece, summed up. */
  held: number;
}

interface Sought {
  readonly pattern: string;
  readonly finder: Finder;
  readonly native: Native;
}

/** @returns the fault that a case shows; undefined if there is none */
export function tryPatterns({ patterns, texts }: PatternCase, tally: PatternTally): string | undefined {
  const sought: Sought[] = [];
  for (const pattern of patterns) {
    const native = new Native(pattern);
    const finder = finderOf(pattern, native);
    if (typeof finder === "string") return `${JSON.stringify(pattern)}: ${finder}`;
    if (finder) sought.push({ pattern, finder, native });
  }
  for (const pieces of texts) {
    const what = read(sought, pieces, tally);
    if (what !== undefined) return `${what}, in ${JSON.stringify(pieces)}`;
  }
  return undefined;
}

/** The finder of a pattern; undefined if the pattern is rightly refused, and a text if it is wrongly refused. */
function finderOf(pattern: string, native: Native): Finder | string | undefined {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    if (!/empty/.test(error.message)) return error.message;
    return native.matchesNothing ? undefined : "never matches nothing";
  }
}

function read(sought: readonly Sought[], pieces: readonly string[], tally: PatternTally): string | undefined {
  const text = pieces.join("");
  const expected = sought.map(({ native }) => native.matches(text));
  for (const [index, { pattern, finder }] of sought.entries()) {
    const what = scanned(finder, pieces, expected[index] ?? []);
    if (what !== undefined) return `${JSON.stringify(pattern)}: ${what}`;
  }
  tally.runs++;
  tally.pieces += pieces.length;
  tally.matches += expected.flat().length;
  const rules = sought.map(({ finder, pattern }, index) => redactRule(pattern, finder, index));
  // There is no independent reference for a text that deobfuscation changes: for it, only the cuts must not matter.
  const whole = isPlain(text) ? redacted(text, expected) : atOnce(rules, text);
  return delivered(rules, pieces, whole, tally);
}

/** Whether the text contains no disguise, so the patterns alone decide every match. */
function isPlain(text: string): boolean {
  const deobfuscator = new Deobfuscator();
  const made = [...deobfuscator.push(text), ...deobfuscator.end()];
  return made.every(({ raw, normalized: plain, folded: squeezed }) => plain === raw && squeezed === raw);
}

function atOnce(rules: readonly OutputRule[], text: string): string {
  let shown = "";
  const channel = new GuardedTexts(rules, new Report());
  const part = new TextPart("text", { joinKey: "text", item: 0 }, (said) => (shown += said));
  runToEnd(channel.push(part, text));
  runToEnd(channel.end());
  return shown;
}

function scanned(finder: Finder, pieces: readonly string[], expected: readonly TextSpan[]): string | undefined {
  const scan = finder.open();
  const spans: TextSpan[] = [];
  let decided = 0;
  for (const piece of [...pieces, undefined]) {
    const found = piece === undefined ? scan.end() : scan.push(piece);
    spans.push(...found.spans);
    if (found.decided < decided) return `decided fell from ${decided} to ${found.decided}`;
    ({ decided } = found);
    const early = expected.find(({ start }, index) => start < decided && index >= spans.length);
    if (early) return `${decided} is decided, and ${early.start}-${early.end} not told`;
  }
  if (JSON.stringify(spans) === JSON.stringify(expected)) return undefined;
  return `found ${JSON.stringify(spans)} instead of ${JSON.stringify(expected)}`;
}

const guardrail = create(GuardrailSchema, { id: "g" });

/** Checks the output of a redacting channel: after every piece it is a prefix of the expected text, and at the end all of it. */
function delivered(
  rules: readonly OutputRule[],
  pieces: readonly string[],
  whole: string,
  tally: PatternTally,
): string | undefined {
  let shown = "";
  const channel = new GuardedTexts(rules, new Report());
  const part = new TextPart("text", { joinKey: "text", item: 0 }, (text) => (shown += text));
  for (const piece of pieces) {
    runToEnd(channel.push(part, piece));
    tally.held += channel.held;
    if (!whole.startsWith(shown)) return `delivered ${JSON.stringify(shown)} of ${JSON.stringify(whole)}`;
  }
  runToEnd(channel.end());
  return shown === whole ? undefined : `delivered ${JSON.stringify(shown)} instead of ${JSON.stringify(whole)}`;
}

/** A rule that replaces each finding by the rule's number. */
export const redactRule = (name: string, finder: Finder, index: number): OutputRule => ({
  name,
  action: filterActions.of("redact"),
  finder,
  placeholder: `<${index}>`,
  engine: "regex",
  stage: "content-filter",
  userOnly: false,
  guardrail,
  scope: "api-key",
  rank: index,
});

/** Runs work to its end without a pause. */
export function runToEnd(work: Iterator<undefined, void> | undefined): void {
  while (work?.next().done === false);
}

/**
 * A simple reference, character by character, that shares no code with the scanner: the longest match over a stretch decides, then the first rule.
 */
function redacted(text: string, found: readonly (readonly TextSpan[])[]): string {
  let result = "";
  for (let at = 0; at < text.length; ) {
    const reach = reachOf(at, found);
    if (reach === at) {
      result += text.charAt(at++);
      continue;
    }
    const within = found.flatMap((spans, rule) =>
      spans
        .filter(({ start }) => start >= at && start < reach)
        .map(({ start, end }) => ({ rule, length: end - start, start })),
    );
    const [longest] = within.sort((a, b) => b.length - a.length || a.start - b.start || a.rule - b.rule);
    result += `<${longest?.rule}>`;
    at = reach;
  }
  return result;
}

/** End of the matches that overlap each other from this position on. */
function reachOf(at: number, found: readonly (readonly TextSpan[])[]): number {
  let reach = at;
  for (let grown = true; grown; ) {
    const overlapping = found
      .flat()
      .filter(({ start, end }) => (start === at || (start > at && start < reach)) && end > reach);
    grown = overlapping.length > 0;
    reach = Math.max(reach, ...overlapping.map(({ end }) => end));
  }
  return reach;
}
