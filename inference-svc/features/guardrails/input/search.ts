/** Scans all texts of a request with the rules, in every form without a disguise. */
import { type Found, type Scan, type TextSpan, pieceLengthOf } from "@sluice/proto/lib/pattern/finder.js";
import { isAudit } from "../../../turn/applied-guardrails.ts";
import type { FilterRule } from "../filter-rules.ts";
import type { RuleMatch } from "../../../turn/trace.ts";
import { buildMatch } from "../receipt-stages.ts";
import type { TimeSlice, Yielding } from "../../../turn/time-slice.ts";
import { type ScanUnit, UnitSources, isUnitReadBy } from "./request-texts.ts";
import type { TextSource } from "./text-sources.ts";
import { type TextForm, buildForms } from "./text-forms.ts";
import type { MappedPiece } from "./mapped-text.ts";

/** Results of one scan of a request. */
export class ScanResults {
  /** Number of matches per rule. A block rule stops at the first text with a match. */
  readonly counts = new Map<FilterRule, number>();
  /** Redact rules that matched text which cannot be redacted. */
  readonly unredactable = new Set<FilterRule>();
  /** Errors of rules that failed. */
  readonly failures = new Map<FilterRule, unknown>();

  readonly #matches: RuleMatch[] | undefined;

  /** @param matches receives the places of matches */
  constructor(matches?: RuleMatch[]) {
    this.#matches = matches;
  }

  isDone(rule: FilterRule): boolean {
    return this.failures.has(rule) || (rule.action.stops && this.counts.has(rule));
  }

  count(rule: FilterRule, spans: readonly TextSpan[]): void {
    this.counts.set(rule, (this.counts.get(rule) ?? 0) + spans.length);
    for (const span of this.#matches ? spans : []) this.#matches?.push(buildMatch(rule, span));
  }
}

/**
 * Scans the texts with the rules, and records the spans to redact at their sources. @param matches receives the places
 * of matches @throws Fault when the turn ends
 */
export async function searchTexts(
  units: Iterable<ScanUnit | undefined>,
  rules: readonly FilterRule[],
  timeSlice: TimeSlice,
  matches?: RuleMatch[],
): Promise<ScanResults> {
  const tally = new ScanResults(matches);
  await timeSlice.run(searchAll(units, rules, tally));
  return tally;
}

function* searchAll(units: Iterable<ScanUnit | undefined>, rules: readonly FilterRule[], tally: ScanResults): Yielding {
  for (const unit of units) {
    yield;
    if (unit === undefined) continue;
    const activeRules = rules.filter(
      (rule) => !(rule.userOnly && !unit.byUser) && isUnitReadBy(unit, rule.reads) && !tally.isDone(rule),
    );
    if (activeRules.length > 0) yield* searchUnit(unit, activeRules, tally);
  }
}

function* searchUnit(unit: ScanUnit, rules: readonly FilterRule[], tally: ScanResults): Yielding {
  const [first, ...more] = unit.sources;
  if (first === undefined || first.text === "") return;
  const text = more.length === 0 ? first.text : unit.sources.map((source) => source.text).join("");
  const counted = new Set(unit.isRepeat === true ? unit.foundBefore : []);
  for (const form of buildForms(text)) {
    if (form === undefined) {
      yield;
      continue;
    }
    const activeRules = rules.filter((rule) => !tally.isDone(rule));
    for (const [rule, spans] of yield* findSpans(form, activeRules, tally)) {
      const own = more.length === 0 ? spans : yield* spansOverSources(unit, spans);
      if (own.length === 0) continue;
      if (!counted.has(rule)) tally.count(rule, own);
      counted.add(rule);
      unit.foundBefore?.add(rule);
      if (rule.action.redacts && !isAudit(rule)) yield* redact(unit, rule, own, tally);
    }
  }
}

function* redact(unit: ScanUnit, rule: FilterRule, spans: readonly TextSpan[], tally: ScanResults): Yielding {
  const [first, ...more] = unit.sources as [TextSource, ...TextSource[]];
  if (more.length === 0) {
    if (!(yield* first.redact(spans, rule))) tally.unredactable.add(rule);
    return;
  }
  const sources = new UnitSources(unit);
  for (const span of spans) {
    for (const [source, part] of sources.split(span)) {
      if (!(yield* source.redact([part], rule))) tally.unredactable.add(rule);
    }
  }
}

/** Selects the matches that cross a boundary between sources; every other match is also found in its own source. */
function* spansOverSources(unit: ScanUnit, spans: readonly TextSpan[]): Yielding<readonly TextSpan[]> {
  const sources = new UnitSources(unit);
  const over: TextSpan[] = [];
  for (const span of spans) {
    if (sources.split(span).length > 1) over.push(span);
    yield;
  }
  return over;
}

/** Matches in one form of a text, as spans of the source text, by rule. */
function* findSpans(
  form: TextForm,
  rules: readonly FilterRule[],
  tally: ScanResults,
): Yielding<ReadonlyMap<FilterRule, readonly TextSpan[]>> {
  const found = new Map<FilterRule, TextSpan[]>();
  const scans = new OpenScans(rules, found, tally);
  for (const { text } of form()) {
    for (const scan of scans.open) {
      for (let at = 0; at < text.length; at += scan.pieceLength) {
        scans.push(scan, text.slice(at, at + scan.pieceLength));
        yield;
      }
    }
  }
  scans.end();
  return found.size === 0 ? found : yield* locateInText(form, found);
}

/**
 * Maps spans of a form back to the source text. The form is derived again, because keeping the map of every form would
 * take many times the memory of the text.
 * @param found spans from left to right, without overlaps within a rule
 */
function* locateInText<Finder>(
  form: TextForm,
  found: ReadonlyMap<Finder, readonly TextSpan[]>,
): Yielding<ReadonlyMap<Finder, readonly TextSpan[]>> {
  const ways = new Map([...found].map(([finder, spans]) => [finder, new SpanLocator(spans)]));
  let at = 0;
  for (const piece of form()) {
    for (const way of ways.values()) way.take(piece, at);
    at += piece.text.length;
    yield;
  }
  return new Map([...ways].map(([finder, way]) => [finder, way.located]));
}

class SpanLocator {
  readonly located: TextSpan[] = [];
  readonly #spans: readonly TextSpan[];
  #next = 0;
  /** Start in the source text of the span that is being located; undefined until its first unit has been read. */
  #start: number | undefined;

  constructor(spans: readonly TextSpan[]) {
    this.#spans = spans;
  }

  /** Locates the spans the piece contains. @param at place in the form where the piece starts */
  take(piece: MappedPiece, at: number): void {
    const end = at + piece.text.length;
    for (let span = this.#spans[this.#next]; span; span = this.#spans[this.#next]) {
      if (span.start >= end) return;
      this.#start ??= piece.sourceOf(span.start - at, span.start - at + 1).start;
      if (span.end > end) return;
      this.located.push({ start: this.#start, end: piece.sourceOf(span.end - at - 1, span.end - at).end });
      this.#start = undefined;
      this.#next++;
    }
  }
}

interface OpenScan {
  readonly rule: FilterRule;
  readonly scan: Scan;
  readonly pieceLength: number;
}

/** One open scan for each rule. A rule is recorded as failed at its first exception, and not called again. */
class OpenScans {
  open: readonly OpenScan[] = [];
  readonly #found: Map<FilterRule, TextSpan[]>;
  readonly #tally: ScanResults;

  constructor(rules: readonly FilterRule[], found: Map<FilterRule, TextSpan[]>, tally: ScanResults) {
    this.#found = found;
    this.#tally = tally;
    this.open = rules.flatMap((rule) => {
      try {
        return [{ rule, scan: rule.finder.open(), pieceLength: pieceLengthOf(rule.finder) }];
      } catch (error) {
        tally.failures.set(rule, error);
        return [];
      }
    });
  }

  /** @param piece the next piece of the text; undefined at its end */
  push({ rule, scan }: OpenScan, piece: string | undefined): void {
    if (this.#tally.failures.has(rule)) return;
    try {
      this.#note(rule, piece === undefined ? scan.end() : scan.push(piece));
    } catch (error) {
      this.#tally.failures.set(rule, error);
    }
  }

  end(): void {
    for (const scan of this.open) this.push(scan, undefined);
  }

  #note(rule: FilterRule, { spans }: Found): void {
    if (spans.length === 0) return;
    const before = this.#found.get(rule);
    if (before === undefined) this.#found.set(rule, [...spans]);
    else for (const span of spans) before.push(span);
  }
}
