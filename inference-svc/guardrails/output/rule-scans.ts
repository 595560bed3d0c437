/** Rules reading one text, from some place of it on: patterns together, others each by itself. */
import { type JointFound, JointScan } from "@sluice/proto/runtime/pattern/joint-scan.js";
import { BoundedScan, maxHeld } from "./bounded.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import { RuleScan, noteFailure } from "./rule-scan.ts";
import type { OutputRule } from "./rules.ts";
import { togetherOf } from "./together.ts";

/** Patterns that are read as one. */
interface Group {
  readonly rules: readonly OutputRule[];
  readonly scan: JointScan;
}

export class RuleScans {
  readonly #base: number;
  readonly #report: Report;
  #groups: Group[] = [];
  readonly #single: RuleScan[] = [];
  /** UTF-16 units that came. */
  #read = 0;
  /** Up to here nothing will be found any more. */
  decided: number;

  private constructor(base: number, report: Report) {
    this.#base = base;
    this.#report = report;
    this.decided = base;
  }

  /** @param rules those that ask others are left out @param base where the text begins @throws Fault as push */
  static open(rules: readonly OutputRule[], base: number, report: Report): RuleScans {
    const scans = new RuleScans(base, report);
    const { groups, single } = togetherOf(rules);
    for (const group of groups) scans.#groups.push({ rules: group.rules, scan: new JointScan(group.joint) });
    for (const rule of single) scans.#single.push(new RuleScan(rule, base, report));
    return scans;
  }

  /** Further readings that go on from here, of those rules of which there can be some. */
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

  /** Nothing that was read can become part of anything found. */
  get isAtRest(): boolean {
    return this.decided >= this.#base + this.#read;
  }

  /** What was found, in the order of the rules. @throws Fault UNAVAILABLE when one fails, and its guardrail does not let pass what it could not look at */
  push(piece: string): readonly Hit[] {
    this.#read += piece.length;
    return this.#look(
      (scan) => scan.push(piece),
      (scan) => scan.push(piece),
    );
  }

  /** @throws as push */
  end(): readonly Hit[] {
    return this.#look(
      (scan) => scan.end(),
      (scan) => scan.end(),
    );
  }

  #look(single: (scan: RuleScan) => readonly Hit[], joint: (scan: JointScan) => JointFound): readonly Hit[] {
    const hits: Hit[] = [];
    let decided = Number.POSITIVE_INFINITY;
    for (const scan of this.#single) {
      for (const hit of single(scan)) hits.push(hit);
      decided = Math.min(decided, scan.decided);
    }
    for (const group of this.#groups) decided = Math.min(decided, this.#lookWith(group, joint, hits));
    this.decided = decided;
    return hits.length > 1 ? hits.sort((a, b) => a.rule.rank - b.rule.rank) : hits;
  }

  /** @returns up to where nothing of the group will be found any more */
  #lookWith(group: Group, look: (scan: JointScan) => JointFound, hits: Hit[]): number {
    try {
      const found = look(group.scan);
      for (const [member, spans] of found.spans) {
        const rule = group.rules[member] as OutputRule;
        for (const { start, end } of spans) hits.push({ start: this.#base + start, end: this.#base + end, rule });
      }
      if (this.#read - found.decided <= maxHeld) return this.#base + found.decided;
      return this.#part(group, hits);
    } catch (cause) {
      this.#groups = this.#groups.filter((other) => other !== group);
      for (const rule of group.rules) noteFailure(rule, this.#report, cause);
      return Number.POSITIVE_INFINITY;
    }
  }

  /** One of them holds back more than it may: from here on each goes on by itself. */
  #part(group: Group, hits: Hit[]): number {
    this.#groups = this.#groups.filter((other) => other !== group);
    let decided = Number.POSITIVE_INFINITY;
    for (const [member, own] of group.scan.apart().entries()) {
      const under = { scan: new BoundedScan(own, this.#read), read: this.#read };
      const scan = new RuleScan(group.rules[member] as OutputRule, this.#base, this.#report, under);
      // What is due for the length so far.
      for (const hit of scan.push("")) hits.push(hit);
      decided = Math.min(decided, scan.decided);
      this.#single.push(scan);
    }
    return decided;
  }
}
