/**
 * Guards one answer with the caller's guardrails: text a block or redact rule matches is never delivered, and all other
 * text is delivered as soon as no match can include it.
 */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Scope } from "../../../turn/scope.ts";
import { Answer, type Batch, type NextBatch, type TurnEvent, isCommitPoint } from "../../../turn/turn.ts";
import { buildBlockFault } from "../block-fault.ts";
import { AnswerScan, type ScanExtent } from "./answer-scan.ts";
import { type OutputRule, divideRules } from "./rules/output-rules.ts";
import type { Report } from "./rules/report.ts";
import { BlockRuleMatched } from "./rules/text-scanner.ts";

export interface OutputGuardDeps {
  readonly rules: readonly OutputRule[];
  readonly scope: Scope;
  readonly report: Report;
  readonly extent: ScanExtent;
  /** Starts the guarded answer. */
  readonly begin: () => Answer;
}

/**
 * An answer under output guardrails. Each batch of events is scanned as a whole before its delivery, and waits only for
 * pauses of long work and for detector services. The delivery of the first batch commits the answer to its endpoint.
 * Before it, a block fails the answer; after it, a block ends the answer as incomplete.
 */
export class OutputGuard extends Answer {
  readonly #begin: () => Answer;
  readonly #report: Report;
  readonly #scan: AnswerScan;
  #committed = false;
  #answer: Answer | undefined;
  /** Number of promises of the batch that have not settled. */
  #running = 0;
  #isOver = false;
  #isClosed = false;
  /** Failure of the answer: a Fault GUARDRAIL_BLOCKED or UNAVAILABLE, or the redacted failure of the guarded answer. */
  #failure: { readonly error: unknown } | undefined;
  #wake = () => {};

  constructor({ rules, scope, report, extent, begin }: OutputGuardDeps) {
    super();
    this.#begin = begin;
    this.#report = report;
    this.#scan = new AnswerScan(divideRules(rules), scope, report, extent);
  }

  override next(wake: () => void): NextBatch {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      if (this.#running > 0) {
        this.#wake = wake;
        return "pending";
      }
      if (this.#canDeliver()) return this.#scan.take();
      if (this.#isOver) return "end";
      if (this.#read(wake) === "pending") return "pending";
    }
  }

  override close(): Promise<void> | undefined {
    const isRead = !this.#isOver && this.#failure === undefined;
    this.#isClosed = this.#isOver = true;
    return isRead ? this.#answer?.close() : undefined;
  }

  /**
   * Whether something can be delivered: events are ready, and the answer has committed, so no later refusal needs an
   * HTTP status of its own.
   */
  #canDeliver(): boolean {
    const { ready } = this.#scan;
    if (ready.length === 0 || this.#isClosed) return false;
    this.#committed ||= ready.some(isCommitPoint);
    return this.#committed;
  }

  /** Scans the next batch of the guarded answer. @returns "pending" when none is there yet */
  #read(wake: () => void): "pending" | undefined {
    let next: NextBatch;
    try {
      this.#answer ??= this.#begin();
      next = this.#answer.next(wake);
    } catch (error) {
      this.#fail(error);
      return undefined;
    }
    if (next === "pending") return next;
    if (next === "end") this.#isOver = true;
    else {
      this.#scan.restartSlice();
      this.#scanFrom(0, next);
    }
    return undefined;
  }

  #scanFrom(first: number, batch: Batch): void {
    try {
      for (let at = first; at < batch.length; at++) {
        const wait = this.#scan.read(batch[at] as TurnEvent);
        if (wait) return this.#scanAfter(wait, at + 1, batch);
      }
    } catch (error) {
      this.#stop(error);
    }
  }

  #scanAfter(wait: Promise<void>, at: number, batch: Batch): void {
    this.#resumeAfter(
      wait.then(
        () => {
          if (!this.#isClosed) this.#scanFrom(at, batch);
        },
        (error: unknown) => this.#stop(error),
      ),
    );
  }

  /** Stops the answer at a failed scan. The provider's call is stopped first, because this makes its usage known. */
  #stop(cause: unknown): void {
    if (this.#isClosed) return;
    const closing = this.#answer?.close();
    if (closing === undefined) return this.#fail(cause);
    const fail = () => this.#fail(cause);
    this.#resumeAfter(closing.then(fail, fail));
  }

  #fail(cause: unknown): void {
    if (cause instanceof BlockRuleMatched) return this.#block();
    if (!(cause instanceof Fault && this.#scan.enforces)) return this.#failWith(cause);
    const failWith = (redacted: unknown) => this.#failWith(redacted);
    this.#resumeAfter(this.#scan.redact(cause).then(failWith, failWith));
  }

  #failWith(error: unknown): void {
    this.#scan.pushStages();
    this.#failure = { error };
  }

  #block(): void {
    if (!this.#committed) return this.#failWith(this.#refusal());
    this.#scan.pushStages();
    this.#scan.cut();
    this.#isOver = true;
  }

  #refusal(): Fault {
    const { blocking } = this.#report;
    return buildBlockFault(`Response blocked by content filter: ${blocking[0]?.name}`, blocking);
  }

  /** Wakes the reader after work that never fails, but may lead to further work. */
  #resumeAfter(work: Promise<void>): void {
    this.#running++;
    void work.then(() => {
      if (--this.#running === 0) this.#wake();
    });
  }
}
