/** Scans complete texts with every rule, with pauses for other turns. */
import { TimeSlice, type Waiting, awaitSettled } from "../../../../turn/time-slice.ts";
import { replaceRegions } from "../../../../turn/replacements.ts";
import type { TurnSignal } from "../../../../turn/signal.ts";
import { type RuleHit, mergeHits } from "./merge-hits.ts";
import { TextScan } from "../forms/text-scan.ts";
import { finishSearch } from "./hit-search.ts";
import type { Report } from "./report.ts";
import { type OutputRule, type OutputRules, isEnforced } from "./output-rules.ts";

/** Thrown when a block rule has matched that is not in audit mode. */
export class BlockRuleMatched extends Error {
  override readonly name = "Blocked";
}

export class TextScanner {
  readonly rules: OutputRules;
  readonly report: Report;
  /** Whether a rule needs a detector service. */
  readonly usesService: boolean;
  /** Whether a rule changes or blocks the answer. */
  readonly enforces: boolean;
  /** Whether a rule only reports. */
  readonly reports: boolean;
  readonly #timeSlice: TimeSlice;

  constructor(rules: OutputRules, report: Report, signal: TurnSignal) {
    this.rules = rules;
    this.report = report;
    this.#timeSlice = new TimeSlice(signal);
    this.enforces = rules.enforced.length > 0;
    this.reports = rules.reporting.length > 0;
    this.usesService = rules.usesService;
  }

  /** Redacts a text, and reports the matches. @throws BlockRuleMatched; Fault UNAVAILABLE when a rule fails */
  async redact(text: string): Promise<string> {
    const hits = this.enforce(await this.findHits(text));
    return hits.length === 0 ? text : replaceRegions(text, mergeHits(hits));
  }

  /** Reports the matches of rules that only report. @throws Fault UNAVAILABLE when a rule fails */
  *reportOnly(text: string): Waiting {
    this.#count(yield* this.#find(this.rules.reporting, text));
  }

  /** Finds the matches of all rules. @throws Fault UNAVAILABLE when a rule fails */
  findHits(text: string): Promise<readonly RuleHit[]> | readonly RuleHit[] {
    return this.runSliced(this.#find(this.rules.all, text));
  }

  /** Reports matches. @returns the matches to be replaced @throws BlockRuleMatched */
  enforce(hits: readonly RuleHit[]): readonly RuleHit[] {
    this.#count(hits);
    const enforced = hits.filter(({ rule }) => isEnforced(rule));
    if (enforced.some(({ rule }) => rule.action.stops)) throw new BlockRuleMatched();
    return enforced;
  }

  #count(hits: readonly RuleHit[]): void {
    for (const hit of hits) if (!hit.continues) this.report.addHit(hit);
  }

  /** Starts a new time slice, for a caller returning from a wait. */
  restartSlice(): void {
    this.#timeSlice.restart();
  }

  /** Pauses if the time slice is used up. */
  pauseIfDue(): Promise<void> | void {
    if (this.#timeSlice.isOver) return this.#timeSlice.yield();
  }

  /** Runs work to its end, with pauses if it is long. @throws Fault when the turn was cancelled */
  runSliced<Result>(work: Waiting<Result>): Promise<Result> | Result {
    return this.#timeSlice.run(work);
  }

  /** Divides a text into pieces, between which the turn may pause for others. */
  *piecesOf(text: string): Iterable<string> {
    const { pieceLength } = this.rules;
    for (let at = 0; at < text.length; at += pieceLength) yield text.slice(at, at + pieceLength);
  }

  /** Reports all rules as not applied. */
  reportFailure(): void {
    for (const rule of this.rules.all) this.report.addFailure(rule);
  }

  /** Whether the text can be scanned without a pause. */
  isShort(text: string): boolean {
    return text.length <= this.rules.pieceLength;
  }

  *#find(rules: readonly OutputRule[], text: string): Waiting<readonly RuleHit[]> {
    if (text === "" || rules.length === 0) return [];
    const hits: RuleHit[] = [];
    const add = (more: readonly RuleHit[]) => {
      for (const hit of more) hits.push(hit);
    };
    const reading = new TextScan(rules, 0, this.report);
    for (const piece of this.piecesOf(text)) {
      add(yield* finishSearch(reading.push(piece)));
      yield;
    }
    if (this.usesService) {
      add(yield* reading.flushHeldForms());
      add(yield* awaitSettled(reading.scanByServices(true)));
    }
    add(yield* finishSearch(reading.end()));
    return hits;
  }
}
