/**
 * What a turn says, under the rules in words: every stretch of it is delivered once it was judged, and judged as soon as a sentence is over.
 * Where rules only report, nothing waits but the end, which brings the receipt.
 */
import { FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Occasion } from "../../internal/call.ts";
import type { Judge } from "../../internal/judge.ts";
import { type Batch, type TurnEvent, commits } from "../../turn/turn.ts";
import { isAudit } from "../../turn/applied.ts";
import { Delivered } from "./delivered.ts";
import { type Finding, type Judgement, findingsOf, judgementOf } from "./judgement.ts";
import type { JudgedRule } from "./rules.ts";
import { type Stretch, Stretches } from "./stretches.ts";

/** Stretches that are being judged at a time; nothing more is read from the provider while there are so many. */
const mostUnjudged = 4;

interface Held {
  readonly event: TurnEvent;
  /** It is delivered once these were judged. */
  readonly awaits: readonly Stretch[];
}

export class JudgedGate {
  readonly #judge: Judge | undefined;
  readonly #rules: readonly JudgedRule[];
  readonly #occasion: Occasion;
  readonly #end: () => void;
  readonly #holds: boolean;
  readonly #stretches = new Stretches();
  readonly #delivered = new Delivered();
  readonly #findings = new Map<JudgedRule, Finding>();
  #held: Held[] = [];
  #unjudged = 0;
  #failure: { readonly error: unknown } | undefined;
  #committed = false;
  /** Something was judged since it was last looked at. */
  #changed = false;
  #tell = () => {};

  /** @param end stops the provider */
  constructor(judge: Judge | undefined, rules: readonly JudgedRule[], occasion: Occasion, end: () => void) {
    this.#end = end;
    this.#judge = judge;
    this.#rules = rules;
    this.#occasion = occasion;
    this.#holds = rules.some((rule) => rule.action === "block" && !isAudit(rule));
  }

  /** @throws Fault GUARDRAIL_BLOCKED before anything was delivered, later the answer ends as incomplete; UNAVAILABLE without a verdict */
  async *guard(batches: AsyncIterable<Batch>): AsyncGenerator<Batch> {
    const iterator = batches[Symbol.asyncIterator]();
    let reading: Promise<IteratorResult<Batch> | undefined> | undefined;
    let over = false;
    try {
      for (;;) {
        this.#changed = false;
        const { refusal } = this.#judgement();
        const ready = refusal ? [] : this.#ready();
        if (ready.length > 0) yield this.#given(ready);
        if (this.#failure) throw this.#failure.error;
        if (refusal) {
          this.#note();
          await this.#stop(iterator, reading);
          if (!this.#committed || refusal.reason !== FaultReason.GUARDRAIL_BLOCKED) throw refusal;
          yield this.#given(this.#delivered.cut(this.#occasion.scope.trace.usage));
          return;
        }
        if (over && this.#held.length === 0) return;
        if (!over && this.#unjudged < mostUnjudged) reading ??= iterator.next();
        const result = await Promise.race(reading ? [reading, this.#change()] : [this.#change()]);
        if (result === undefined) continue;
        reading = undefined;
        if (result.done === true) over = true;
        else for (const event of result.value) this.#take(event);
      }
    } finally {
      if (!over) await this.#stop(iterator, reading);
    }
  }

  /** What it has consumed until then is known once it has stopped. A generator that is being read cannot be told to: its call is ended. */
  async #stop(iterator: AsyncIterator<Batch>, reading: Promise<unknown> | undefined): Promise<void> {
    this.#end();
    await Promise.allSettled([reading, iterator.return?.()]);
  }

  #take(event: TurnEvent): void {
    const { awaits, closed } = this.#stretches.take(event);
    for (const stretch of closed) this.#ask(stretch);
    this.#held.push({ event, awaits });
  }

  #ask(stretch: Stretch): void {
    this.#unjudged++;
    findingsOf(this.#judge, this.#rules, [stretch.text], this.#occasion)
      .then((findings) => this.#found(findings))
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(() => {
        stretch.judged = true;
        this.#unjudged--;
        this.#changed = true;
        this.#tell();
      });
  }

  /** Of all stretches the worst. */
  #found(findings: readonly Finding[]): void {
    for (const finding of findings) {
      const known = this.#findings.get(finding.rule);
      if (!known || known.outcome === "followed" || finding.outcome === "broken")
        this.#findings.set(finding.rule, finding);
    }
  }

  /** Settles when something was judged. */
  #change(): Promise<undefined> {
    if (this.#changed) return Promise.resolve(undefined);
    return new Promise((resolve) => (this.#tell = () => resolve(undefined)));
  }

  #judgement(): Judgement {
    return judgementOf([...this.#findings.values()], this.#judge, "Response");
  }

  #passes({ event, awaits }: Held): boolean {
    if (event.type === "end") return this.#unjudged === 0;
    return !this.#holds || awaits.every(({ judged }) => judged);
  }

  #ready(): TurnEvent[] {
    const count = this.#held.findIndex((held) => !this.#passes(held));
    const ready = this.#held.splice(0, count === -1 ? this.#held.length : count).map(({ event }) => event);
    if (ready.at(-1)?.type === "end") this.#note();
    return ready;
  }

  #given(batch: Batch): Batch {
    this.#delivered.note(batch);
    this.#committed ||= batch.some(commits);
    return batch;
  }

  /** In the receipt, before it is written. */
  #note(): void {
    this.#occasion.scope.trace.stages.push(...this.#judgement().stages);
  }
}
