/** One rule reading one text, from some place of it on. */
import type { Found } from "@sluice/proto/runtime/pattern/finder.js";
import { BoundedScan } from "./bounded.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import { type Rule, notApplicable } from "./rules.ts";

export class RuleScan {
  readonly rule: Rule;
  readonly #base: number;
  readonly #report: Report;
  /** Undefined once it has failed. */
  #scan: BoundedScan | undefined;
  /** Up to here nothing will be found any more. */
  decided: number;

  /** @param base where the text that it reads begins */
  constructor(rule: Rule, base: number, report: Report) {
    this.rule = rule;
    this.#base = base;
    this.#report = report;
    this.decided = base;
    this.#scan = this.#try(() => new BoundedScan(rule.finder));
  }

  /** @throws Fault UNAVAILABLE when the rule fails, and its guardrail does not let pass what it could not look at */
  push(piece: string): readonly Hit[] {
    return this.#found((scan) => scan.push(piece));
  }

  end(): readonly Hit[] {
    return this.#found((scan) => scan.end());
  }

  #found(read: (scan: BoundedScan) => Found): readonly Hit[] {
    const scan = this.#scan;
    const found = scan && this.#try(() => read(scan));
    if (!found) {
      this.#scan = undefined;
      this.decided = Number.POSITIVE_INFINITY;
      return [];
    }
    this.decided = this.#base + found.decided;
    return found.spans.map((span) => ({
      ...span,
      start: this.#base + span.start,
      end: this.#base + span.end,
      rule: this.rule,
    }));
  }

  #try<Value>(work: () => Value): Value | undefined {
    try {
      return work();
    } catch (cause) {
      this.#report.failed(this.rule);
      if (this.rule.owner.failsOpen || this.rule.owner.audit) return undefined;
      throw notApplicable(cause);
    }
  }
}
