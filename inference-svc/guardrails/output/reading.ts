/** A text under all rules: as it is, with its disguises taken off, and what is encoded in its words. */
import type { Pauses } from "../../turn/breath.ts";
import { EncodedWords } from "./encoded-words.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import { RuleScan } from "./rule-scan.ts";
import { RuleScans } from "./rule-scans.ts";
import type { OutputRule } from "./rules.ts";
import { togetherOf } from "./together.ts";
import { type Undisguised, Undisguiser } from "./undisguise.ts";
import { View } from "./view.ts";

export class Reading {
  readonly #scans: RuleScans;
  /** Of rules that ask others, who read a text only as it is, and all of it before its end. */
  readonly #asking: readonly RuleScan[];
  readonly #words: EncodedWords;
  readonly #undisguiser = new Undisguiser();
  readonly #squeezed = new View("squeezed");
  readonly #views = [new View("plain"), new View("joined", this.#squeezed), this.#squeezed, new View("revealed")];
  /** What was given to the scans. */
  #read: number;
  /** What several forms have shown is told once. */
  readonly #known = new Set<string>();

  /** @param base where the text begins */
  constructor(rules: readonly OutputRule[], base: number, report: Report) {
    this.#scans = RuleScans.open(rules, base, report);
    this.#asking = togetherOf(rules).asking.map((rule) => new RuleScan(rule, base, report));
    this.#words = new EncodedWords(rules, base, report);
    this.#read = base;
  }

  /** Up to here no rule finds anything any more. */
  get decided(): number {
    let decided = Math.min(this.#words.decided, this.#scans.decided);
    for (const view of this.#views) decided = Math.min(decided, view.decided);
    if (this.#undisguiser.held > 0) decided = Math.min(decided, this.#read);
    for (const scan of this.#asking) if (scan.decided < decided) ({ decided } = scan);
    return decided;
  }

  /** @throws Fault UNAVAILABLE when a rule fails, and its guardrail does not let pass what it could not look at */
  *push(text: string): Pauses<readonly Hit[]> {
    const skimmed = this.#words.skim(text);
    const hits = skimmed === text.length ? [] : [...(yield* this.#words.push(text.slice(skimmed)))];
    for (const scan of this.#asking) hits.push(...scan.push(text));
    // Most texts are read in one form.
    if (!this.#isApart && this.#undisguiser.passes(text)) this.#readRaw(text, hits);
    else yield* this.#look(this.#undisguiser.push(text), hits);
    return hits;
  }

  /** The text is over: gives the scans what was held until its form is known, before others are asked about all of it. @throws as push */
  *rest(): Pauses<readonly Hit[]> {
    const hits = [...(yield* this.#words.end())];
    yield* this.#look(this.#undisguiser.end(), hits);
    return hits;
  }

  /** The text is over. @throws as push */
  *end(): Pauses<readonly Hit[]> {
    const hits = [...(yield* this.rest())];
    for (const scan of this.#asking) hits.push(...scan.end());
    for (const hit of this.#scans.end()) this.#tell(hit, hits);
    for (const view of this.#views) for (const hit of view.end()) this.#tell(hit, hits);
    return hits;
  }

  /** What rules find that ask others. @throws as push; Fault when the turn is over */
  async ask(over: boolean): Promise<readonly Hit[]> {
    return (await Promise.all(this.#asking.map((scan) => scan.ask(over)))).flat();
  }

  *#look(made: readonly Undisguised[], hits: Hit[]): Pauses {
    for (let from = 0; from < made.length; ) {
      const first = made[from] as Undisguised;
      for (const view of this.#views) if (!view.isApart && !view.isSame(first)) view.part(this.#scans, this.#read);
      const until = this.#nextParting(made, from + 1);
      yield* this.#readAll(from === 0 && until === made.length ? made : made.slice(from, until), hits);
      from = until;
    }
    for (const view of this.#views) view.join(this.#scans);
    if (this.#known.size > 0 && !this.#isApart) this.#known.clear();
  }

  /** Index of the next stretch at which a form begins to differ from the text. */
  #nextParting(made: readonly Undisguised[], from: number): number {
    let index = made.length;
    for (const view of this.#views) {
      if (view.isApart) continue;
      const parting = made.findIndex((each, at) => at >= from && !view.isSame(each));
      if (parting !== -1) index = Math.min(index, parting);
    }
    return index;
  }

  *#readAll(made: readonly Undisguised[], hits: Hit[]): Pauses {
    let text = "";
    for (const { raw } of made) text += raw;
    this.#readRaw(text, hits);
    for (const view of this.#views) {
      if (!view.isApart) continue;
      yield;
      for (const hit of view.read(made)) this.#tell(hit, hits);
    }
  }

  #readRaw(text: string, hits: Hit[]): void {
    for (const hit of this.#scans.push(text)) this.#tell(hit, hits);
    this.#read += text.length;
  }

  get #isApart(): boolean {
    for (const view of this.#views) if (view.isApart) return true;
    return false;
  }

  #tell(hit: Hit, hits: Hit[]): void {
    if (this.#isApart) {
      const name = `${hit.rule.rank} ${hit.start} ${hit.end}`;
      if (this.#known.has(name)) return;
      this.#known.add(name);
    }
    hits.push(hit);
  }
}
