/** Scans one text with one rule. */
import type { Found, Scan } from "@sluice/proto/lib/pattern/finder.js";
import { DetectorUnavailable } from "../../../../services/detection/wire.ts";
import { isServiceScan } from "../../detected/service-scan.ts";
import { guardrailUnavailable } from "../../not-applicable.ts";
import { failsOpen } from "../../filter-rules.ts";
import { BoundedScan } from "./bounded-scan.ts";
import type { RuleHit } from "./merge-hits.ts";
import type { Report } from "./report.ts";
import type { OutputRule } from "./output-rules.ts";
import { serviceRetryMs } from "../../../../models/internal-calls/retry-hint.ts";

/** A scan begun by another object. */
interface ResumedScan {
  readonly scan: Scan | BoundedScan;
  /** Number of UTF-16 units the scan has already read. */
  readonly read: number;
}

export class RuleScan {
  readonly rule: OutputRule;
  readonly #base: number;
  readonly #report: Report;
  /** The scan; undefined after the rule has failed. */
  #scan: Scan | BoundedScan | undefined;
  /** UTF-16 units pushed so far. */
  #read = 0;
  /** Place before which no further match is possible. */
  decided: number;

  /** @param base place of the text's first unit in the answer @param under a scan to be continued */
  constructor(rule: OutputRule, base: number, report: Report, under?: ResumedScan) {
    this.rule = rule;
    this.#base = base;
    this.#report = report;
    this.decided = base;
    if (under) {
      this.#scan = under.scan;
      this.#read = under.read;
    } else this.#open();
  }

  #open(): void {
    try {
      // A scan by a detector service limits by itself how much it holds back.
      const scan = this.rule.finder.open();
      this.#scan = this.rule.outage === undefined ? new BoundedScan(scan) : scan;
    } catch (cause) {
      this.#handleFailure(cause);
    }
  }

  /** An independent copy from this place on. @returns undefined when the scan cannot be forked */
  fork(): RuleScan | undefined {
    const scan = this.#scan instanceof BoundedScan ? this.#scan.fork() : undefined;
    if (!scan) return undefined;
    const fork = new RuleScan(this.rule, this.#base, this.#report, { scan, read: this.#read });
    fork.decided = this.decided;
    return fork;
  }

  /** Scans a piece. @throws Fault UNAVAILABLE when the rule fails and its guardrail fails closed */
  push(piece: string): readonly RuleHit[] {
    this.#read += piece.length;
    try {
      return this.#scan ? this.#toHits(this.#scan.push(piece)) : nothing;
    } catch (cause) {
      return this.#handleFailure(cause);
    }
  }

  /** Ends the text. @throws Fault UNAVAILABLE when a rule fails and its guardrail fails closed */
  end(): readonly RuleHit[] {
    try {
      return this.#scan ? this.#toHits(this.#scan.end()) : nothing;
    } catch (cause) {
      return this.#handleFailure(cause);
    }
  }

  /**
   * Calls the detector service, if the rule has one. @throws Fault UNAVAILABLE when a rule fails and its guardrail
   * fails closed; the turn's Fault once the turn is over
   */
  async scanByService(over: boolean): Promise<readonly RuleHit[]> {
    if (!this.#scan || this.#scan instanceof BoundedScan || !isServiceScan(this.#scan)) return nothing;
    try {
      return this.#toHits(await this.#scan.scanByService(over));
    } catch (cause) {
      if (!(cause instanceof DetectorUnavailable)) throw cause;
      return this.#handleFailure(cause);
    }
  }

  #toHits({ spans, decided }: Found): readonly RuleHit[] {
    this.decided = this.#base + decided;
    if (spans.length === 0) return nothing;
    return spans.map((span) => ({
      ...span,
      start: this.#base + span.start,
      end: this.#base + span.end,
      rule: this.rule,
    }));
  }

  #handleFailure(cause: unknown): readonly RuleHit[] {
    noteFailure(this.rule, this.#report, cause);
    this.#scan = undefined;
    this.decided = Number.POSITIVE_INFINITY;
    return nothing;
  }
}

/** Records a failed rule. @throws Fault UNAVAILABLE when the rule's guardrail fails closed */
export function noteFailure(rule: OutputRule, report: Report, cause: unknown): void {
  report.addFailure(rule);
  if (!failsOpen(rule))
    throw guardrailUnavailable(cause, cause instanceof DetectorUnavailable ? serviceRetryMs : undefined);
}

const nothing: readonly RuleHit[] = [];
