/** Scans one text with many rules: patterns in groups, every other rule by itself. */
import { JointScan } from "@sluice/proto/lib/pattern/joint-scan.js";
import { BoundedScan, maxHeldUnits } from "./bounded-scan.ts";
import type { RuleHit } from "./merge-hits.ts";
import type { Report } from "./report.ts";
import { RuleScan, noteFailure } from "./rule-scan.ts";
import type { OutputRule } from "./output-rules.ts";
import { groupRules } from "./rule-groups.ts";

/** Rules whose patterns are scanned as one automaton. */
interface Group {
  readonly rules: readonly OutputRule[];
  readonly scan: JointScan;
}

export class RuleScans {
  readonly #base: number;
  readonly #report: Report;
  #groups: Group[] = [];
  readonly #single: RuleScan[] = [];
  /** UTF-16 units pushed so far. */
  #read = 0;
  /** Place before which no further match is possible. */
  decided: number;

  private constructor(base: number, report: Report) {
    this.#base = base;
    this.#report = report;
    this.decided = base;
  }

  /**
   * @param rules rules to scan with; those of detector services are left out
   * @param base place of the text's first unit in the answer
   * @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed
   */
  static open(rules: readonly OutputRule[], base: number, report: Report): RuleScans {
    const scans = new RuleScans(base, report);
    const { groups, single } = groupRules(rules);
    for (const group of groups) scans.#groups.push({ rules: group.rules, scan: new JointScan(group.joint) });
    for (const rule of single) scans.#single.push(new RuleScan(rule, base, report));
    return scans;
  }

  /** Independent copies of all scans. Scans that cannot be forked are left out. */
  fork(): RuleScans {
    const fork = new RuleScans(this.#base, this.#report);
    for (const { rules, scan } of this.#groups) fork.#groups.push({ rules, scan: scan.fork() });
    for (const scan of this.#single) {
      const other = scan.fork();
      if (other) fork.#single.push(other);
    }
    fork.#read = this.#read;
    fork.decided = this.decided;
    return fork;
  }

  /** Whether no match is under way. */
  get isAtRest(): boolean {
    return this.decided >= this.#base + this.#read;
  }

  /**
   * Scans a piece. @returns matches in the order of the rules @throws Fault UNAVAILABLE when a rule fails and its
   * guardrail fails closed
   */
  push(piece: string): readonly RuleHit[] {
    this.#read += piece.length;
    return this.#scanAll(piece);
  }

  /** Ends the text. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed */
  end(): readonly RuleHit[] {
    return this.#scanAll(undefined);
  }

  /** @param piece the next piece; undefined at the end of the text */
  #scanAll(piece: string | undefined): readonly RuleHit[] {
    const hits: RuleHit[] = [];
    let decided = Number.POSITIVE_INFINITY;
    for (const scan of this.#single) {
      for (const hit of piece === undefined ? scan.end() : scan.push(piece)) hits.push(hit);
      decided = Math.min(decided, scan.decided);
    }
    for (const group of this.#groups) decided = Math.min(decided, this.#scanGroup(group, piece, hits));
    this.decided = decided;
    return hits.length > 1 ? hits.sort((a, b) => a.rule.rank - b.rule.rank) : hits;
  }

  /** Scans a piece with a group. @returns the place before which the group cannot have further matches */
  #scanGroup(group: Group, piece: string | undefined, hits: RuleHit[]): number {
    try {
      const found = piece === undefined ? group.scan.end() : group.scan.push(piece);
      for (const [member, spans] of found.spans) {
        const rule = group.rules[member] as OutputRule;
        for (const { start, end } of spans) hits.push({ start: this.#base + start, end: this.#base + end, rule });
      }
      if (this.#read - found.decided <= maxHeldUnits) return this.#base + found.decided;
      return this.#splitGroup(group, hits);
    } catch (cause) {
      this.#groups = this.#groups.filter((other) => other !== group);
      for (const rule of group.rules) noteFailure(rule, this.#report, cause);
      return Number.POSITIVE_INFINITY;
    }
  }

  /**
   * Splits a group in which a rule holds back more than the limit: from here on each rule is scanned and bounded
   * separately.
   */
  #splitGroup(group: Group, hits: RuleHit[]): number {
    this.#groups = this.#groups.filter((other) => other !== group);
    let decided = Number.POSITIVE_INFINITY;
    for (const [member, own] of group.scan.split().entries()) {
      const under = { scan: new BoundedScan(own, this.#read), read: this.#read };
      const scan = new RuleScan(group.rules[member] as OutputRule, this.#base, this.#report, under);
      // Pushing an empty piece returns the part of a long match that must be reported now.
      for (const hit of scan.push("")) hits.push(hit);
      decided = Math.min(decided, scan.decided);
      this.#single.push(scan);
    }
    return decided;
  }
}
