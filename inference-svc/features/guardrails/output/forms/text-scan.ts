/** Scans one text with all rules in each of its forms: raw, with disguises removed, and decoded from encoded words. */
import type { Yielding } from "../../../../turn/time-slice.ts";
import { EncodedWords } from "./encoded-words.ts";
import type { HitSearch } from "../rules/hit-search.ts";
import type { RuleHit } from "../rules/merge-hits.ts";
import type { Report } from "../rules/report.ts";
import { RuleScan } from "../rules/rule-scan.ts";
import { RuleScans } from "../rules/rule-scans.ts";
import type { OutputRule } from "../rules/output-rules.ts";
import { groupRules } from "../rules/rule-groups.ts";
import type { Deobfuscated } from "./characters.ts";
import { Deobfuscator } from "./deobfuscator.ts";
import { FormScan } from "./form-scan.ts";

export class TextScan {
  readonly #scans: RuleScans;
  /** Scans by detector services. They read only the raw text, and must have read all of it before it ends. */
  readonly #serviceScans: readonly RuleScan[];
  readonly #encodedWords: EncodedWords;
  readonly #deobfuscator = new Deobfuscator();
  /** Scans of the forms; empty until the first text with a form that may differ. */
  #forms: readonly FormScan[] = [];
  /** Place up to which the raw text was scanned. */
  #read: number;
  /**
   * Keys of the matches already reported, since several forms can contain the same match. Absent until a form differs.
   */
  #knownHits: Set<string> | undefined;

  /** @param base place of the text's first unit in the answer */
  constructor(rules: readonly OutputRule[], base: number, report: Report) {
    this.#scans = RuleScans.open(rules, base, report);
    this.#serviceScans = groupRules(rules).serviceRules.map((rule) => new RuleScan(rule, base, report));
    this.#encodedWords = new EncodedWords(rules, base, report);
    this.#read = base;
  }

  /** Place before which no further match is possible. */
  get decided(): number {
    let decided = Math.min(this.#encodedWords.decided, this.#scans.decided);
    for (const view of this.#forms) decided = Math.min(decided, view.decided);
    if (this.#deobfuscator.holds) decided = Math.min(decided, this.#read);
    for (const scan of this.#serviceScans) if (scan.decided < decided) ({ decided } = scan);
    return decided;
  }

  /** Scans the next text. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed */
  push(text: string): HitSearch {
    const skimmed = this.#encodedWords.skim(text);
    // Most texts are equal in all forms, and need only one scan.
    const isPlain = !this.#hasForkedForm && this.#deobfuscator.passes(text);
    const isSimple = isPlain && skimmed === text.length && this.#serviceScans.length === 0;
    return isSimple ? this.#scanPlain(text) : this.#scanDisguised(text, skimmed, isPlain);
  }

  #scanPlain(text: string): readonly RuleHit[] {
    this.#read += text.length;
    return this.#scans.push(text);
  }

  /**
   * @param skimmed number of leading UTF-16 units without an encoded word @param isPlain whether the text is equal in
   * all forms
   */
  *#scanDisguised(text: string, skimmed: number, isPlain: boolean): Yielding<readonly RuleHit[]> {
    const hits = skimmed === text.length ? [] : [...(yield* this.#encodedWords.push(text.slice(skimmed)))];
    for (const scan of this.#serviceScans) hits.push(...scan.push(text));
    if (isPlain) this.#scanRaw(text, hits);
    else yield* this.#scanForms(this.#deobfuscator.push(text), hits);
    return hits;
  }

  /**
   * Scans the text held because its form was not clear. Must be called before services are called for the complete
   * text.
   * @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  *flushHeldForms(): Yielding<readonly RuleHit[]> {
    const hits = [...(yield* this.#encodedWords.end())];
    yield* this.#scanForms(this.#deobfuscator.end(), hits);
    return hits;
  }

  /** Ends the text. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed */
  end(): HitSearch {
    const isHeld = this.#deobfuscator.holds || this.#encodedWords.decided < Number.POSITIVE_INFINITY;
    const isSimple = !isHeld && this.#forms.length === 0 && this.#serviceScans.length === 0;
    return isSimple ? this.#scans.end() : this.#endForms();
  }

  *#endForms(): Yielding<readonly RuleHit[]> {
    const hits = [...(yield* this.flushHeldForms())];
    for (const scan of this.#serviceScans) hits.push(...scan.end());
    for (const hit of this.#scans.end()) this.#addHit(hit, hits);
    for (const view of this.#forms) for (const hit of view.end()) this.#addHit(hit, hits);
    return hits;
  }

  /**
   * Calls the detector services, and returns their matches. @throws Fault UNAVAILABLE when a rule fails and its
   * guardrail fails closed; the turn's Fault once the turn is over
   */
  async scanByServices(over: boolean): Promise<readonly RuleHit[]> {
    return (await Promise.all(this.#serviceScans.map((scan) => scan.scanByService(over)))).flat();
  }

  *#scanForms(pieces: readonly Deobfuscated[], hits: RuleHit[]): Yielding {
    if (this.#forms.length === 0) this.#forms = openForms();
    for (let from = 0; from < pieces.length; ) {
      const first = pieces[from] as Deobfuscated;
      for (const view of this.#forms)
        if (!view.isForked && !view.isUnchanged(first)) view.forkFrom(this.#scans, this.#read);
      const until = this.#findNextDifference(pieces, from + 1);
      yield* this.#scanAll(from === 0 && until === pieces.length ? pieces : pieces.slice(from, until), hits);
      from = until;
    }
    for (const view of this.#forms) view.rejoin(this.#scans);
    if (!this.#hasForkedForm) this.#knownHits = undefined;
  }

  /** Index of the next piece that differs from the raw text in one of its forms. */
  #findNextDifference(pieces: readonly Deobfuscated[], from: number): number {
    let index = pieces.length;
    for (const view of this.#forms) {
      if (view.isForked) continue;
      const parting = pieces.findIndex((each, at) => at >= from && !view.isUnchanged(each));
      if (parting !== -1) index = Math.min(index, parting);
    }
    return index;
  }

  *#scanAll(pieces: readonly Deobfuscated[], hits: RuleHit[]): Yielding {
    let text = "";
    for (const { raw } of pieces) text += raw;
    this.#scanRaw(text, hits);
    for (const view of this.#forms) {
      if (!view.isForked) continue;
      yield;
      for (const hit of view.read(pieces)) this.#addHit(hit, hits);
    }
  }

  #scanRaw(text: string, hits: RuleHit[]): void {
    for (const hit of this.#scans.push(text)) this.#addHit(hit, hits);
    this.#read += text.length;
  }

  get #hasForkedForm(): boolean {
    for (const view of this.#forms) if (view.isForked) return true;
    return false;
  }

  #addHit(hit: RuleHit, hits: RuleHit[]): void {
    if (this.#hasForkedForm) {
      const name = `${hit.rule.rank} ${hit.start} ${hit.end}`;
      this.#knownHits ??= new Set();
      if (this.#knownHits.has(name)) return;
      this.#knownHits.add(name);
    }
    hits.push(hit);
  }
}

function openForms(): readonly FormScan[] {
  const folded = new FormScan("folded");
  return [new FormScan("normalized"), new FormScan("unmarked", folded), folded, new FormScan("tagsDecoded")];
}
