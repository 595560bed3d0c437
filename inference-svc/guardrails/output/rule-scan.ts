/** One rule reading one text, from some place of it on. */
import type { Found } from "@sluice/proto/runtime/pattern/finder.js";
import { notApplicable } from "../not-applicable.ts";
import { failsOpen } from "../policy.ts";
import { BoundedScan } from "./bounded.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import type { OutputRule } from "./rules.ts";

export class RuleScan {
  readonly rule: OutputRule;
  readonly #base: number;
  readonly #report: Report;
  /** Undefined once it has failed. */
  #scan: BoundedScan | undefined;
  /** Up to here nothing will be found any more. */
  decided: number;

  /** @param base where the text that it reads begins */
  constructor(rule: OutputRule, base: number, report: Report) {
    this.rule = rule;
    this.#base = base;
    this.#report = report;
    this.decided = base;
    try {
      this.#scan = new BoundedScan(rule.finder);
    } catch (cause) {
      this.#failed(cause);
    }
  }

  /** @throws Fault UNAVAILABLE when the rule fails, and its guardrail does not let pass what it could not look at */
  push(piece: string): readonly Hit[] {
    try {
      return this.#scan ? this.#found(this.#scan.push(piece)) : nothing;
    } catch (cause) {
      return this.#failed(cause);
    }
  }

  /** @throws as push */
  end(): readonly Hit[] {
    try {
      return this.#scan ? this.#found(this.#scan.end()) : nothing;
    } catch (cause) {
      return this.#failed(cause);
    }
  }

  #found({ spans, decided }: Found): readonly Hit[] {
    this.decided = this.#base + decided;
    if (spans.length === 0) return nothing;
    return spans.map((span) => ({
      ...span,
      start: this.#base + span.start,
      end: this.#base + span.end,
      rule: this.rule,
    }));
  }

  #failed(cause: unknown): readonly Hit[] {
    this.#report.failed(this.rule);
    if (!failsOpen(this.rule)) throw notApplicable(cause);
    this.#scan = undefined;
    this.decided = Number.POSITIVE_INFINITY;
    return nothing;
  }
}

const nothing: readonly Hit[] = [];
