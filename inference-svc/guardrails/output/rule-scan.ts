/** One rule reading one text, from some place of it on. */
import type { Found, Scan } from "@sluice/proto/runtime/pattern/finder.js";
import { NoAnswer } from "../../internal/detection/mark.ts";
import { isAsking } from "../detected/asking.ts";
import { notApplicable, serviceRetryMs } from "../not-applicable.ts";
import { failsOpen } from "../policy.ts";
import { BoundedScan } from "./bounded.ts";
import type { Hit } from "./regions.ts";
import type { Report } from "./report.ts";
import type { OutputRule } from "./rules.ts";

/** Where somebody else has come to with it. */
interface Under {
  readonly scan: Scan | BoundedScan;
  /** UTF-16 units that came. */
  readonly read: number;
}

export class RuleScan {
  readonly rule: OutputRule;
  readonly #base: number;
  readonly #report: Report;
  /** Undefined once it has failed. */
  #scan: Scan | BoundedScan | undefined;
  /** UTF-16 units that came. */
  #read = 0;
  /** Up to here nothing will be found any more. */
  decided: number;

  /** @param base where the text that it reads begins @param under goes on from there */
  constructor(rule: OutputRule, base: number, report: Report, under?: Under) {
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
      // Who asks bounds what it holds by itself.
      const scan = this.rule.finder.open();
      this.#scan = this.rule.outage === undefined ? new BoundedScan(scan) : scan;
    } catch (cause) {
      this.#failed(cause);
    }
  }

  /** Another reading that goes on from here; undefined where there can be none. */
  fork(): RuleScan | undefined {
    const scan = this.#scan instanceof BoundedScan ? this.#scan.fork() : undefined;
    if (!scan) return undefined;
    const fork = new RuleScan(this.rule, this.#base, this.#report, { scan, read: this.#read });
    fork.decided = this.decided;
    return fork;
  }

  /** @throws Fault UNAVAILABLE when the rule fails, and its guardrail does not let pass what it could not look at */
  push(piece: string): readonly Hit[] {
    this.#read += piece.length;
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

  /** What others have found, where that is who decides. @throws as push; Fault when the turn is over */
  async ask(over: boolean): Promise<readonly Hit[]> {
    if (!this.#scan || this.#scan instanceof BoundedScan || !isAsking(this.#scan)) return nothing;
    try {
      return this.#found(await this.#scan.ask(over));
    } catch (cause) {
      if (!(cause instanceof NoAnswer)) throw cause;
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
    noteFailure(this.rule, this.#report, cause);
    this.#scan = undefined;
    this.decided = Number.POSITIVE_INFINITY;
    return nothing;
  }
}

/** @throws Fault UNAVAILABLE unless its guardrail lets pass what it could not look at */
export function noteFailure(rule: OutputRule, report: Report, cause: unknown): void {
  report.failed(rule);
  if (!failsOpen(rule)) throw notApplicable(cause, cause instanceof NoAnswer ? serviceRetryMs : undefined);
}

const nothing: readonly Hit[] = [];
