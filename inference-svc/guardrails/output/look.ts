/** Looks at texts that are there as a whole, with every rule. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Hit, regionsOf, replaced } from "./regions.ts";
import type { Report } from "./report.ts";
import { RuleScan } from "./rule-scan.ts";
import { type OutputRule, type OutputRules, jointPieceLength } from "./rules.ts";

/** A block rule that is enforced has found something. */
export class Blocked extends Error {
  override readonly name = "Blocked";
}

export class Looker {
  readonly rules: OutputRules;
  readonly report: Report;
  readonly #pieceLength: number;

  constructor(rules: OutputRules, report: Report) {
    this.rules = rules;
    this.report = report;
    this.#pieceLength = jointPieceLength([...rules.enforced, ...rules.reporting]);
  }

  /** The text without what is redacted; what was found is reported. @throws Blocked; Fault UNAVAILABLE when a rule fails */
  async cleaned(text: string): Promise<string> {
    const hits = this.settled(await this.hits(text));
    return hits.length === 0 ? text : replaced(text, regionsOf(hits));
  }

  /** Reports what is found by rules that change nothing. */
  async reported(text: string): Promise<void> {
    this.settled(await this.#scanned(this.rules.reporting, text));
  }

  /** What all rules find. @throws Fault UNAVAILABLE when a rule fails */
  hits(text: string): Promise<readonly Hit[]> {
    return this.#scanned([...this.rules.enforced, ...this.rules.reporting], text);
  }

  /** Reports them. @returns what is to be replaced @throws Blocked */
  settled(hits: readonly Hit[]): readonly Hit[] {
    for (const { rule, continues } of hits) if (!continues) this.report.found(rule);
    const enforced = hits.filter(({ rule }) => this.rules.enforced.includes(rule));
    if (enforced.some(({ rule }) => rule.action === "block")) throw new Blocked();
    return enforced;
  }

  /** Pieces of a text, between which others get their turn. */
  async *pieces(text: string): AsyncGenerator<string> {
    for (let at = 0; at < text.length; at += this.#pieceLength) {
      if (at > 0) await nextTurn();
      yield text.slice(at, at + this.#pieceLength);
    }
  }

  /** None of the rules could be applied. */
  failed(): void {
    for (const rule of [...this.rules.enforced, ...this.rules.reporting]) this.report.failed(rule);
  }

  /** Whether it is read at once. */
  isShort(text: string): boolean {
    return text.length <= this.#pieceLength;
  }

  async #scanned(rules: readonly OutputRule[], text: string): Promise<readonly Hit[]> {
    if (text === "" || rules.length === 0) return [];
    const scans = rules.map((rule) => new RuleScan(rule, 0, this.report));
    const hits: Hit[] = [];
    for await (const piece of this.pieces(text)) hits.push(...scans.flatMap((scan) => scan.push(piece)));
    return [...hits, ...scans.flatMap((scan) => scan.end())];
  }
}
