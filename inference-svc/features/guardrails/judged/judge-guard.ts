/**
 * Judges an answer by guardrail rules in words while it streams. A segment is judged as soon as its sentence ends, and
 * delivered after its verdict. If every rule only reports, text is not held, and only the final event waits, because it
 * carries the receipt.
 */
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { CallContext } from "../../../models/internal-calls/internal-call.ts";
import type { Judge } from "../../../models/internal-calls/judge.ts";
import type { StoppableAnswer } from "../../../turn/layer-builders.ts";
import { type Batch, type TurnEvent, isCommitPoint, type OutputItem } from "../../../turn/turn.ts";
import type { Usage } from "../../../turn/usage.ts";
import { isAudit } from "../../../turn/applied-guardrails.ts";
import { type JudgeFinding, type Judgement, judgeTexts, buildJudgement } from "./judgement.ts";
import type { JudgedRule } from "./rules.ts";
import { type JudgedSegment, AnswerSegments } from "./segments.ts";
import { buildCutItem } from "../output/cut-item.ts";
import { type TextKey, toTextKey } from "../../../turn/item-texts.ts";

/** Abort reason for the provider call of a blocked answer, which is read no further. */
const blocked = new Error("blocked by a rule");

/** Maximum segments judged at the same time; at the limit, nothing more is read from the provider. */
const maxUnjudged = 4;

interface Held {
  readonly event: TurnEvent;
  /** The segments whose verdicts this event waits for. */
  readonly awaits: readonly JudgedSegment[];
}

export class JudgeGuard {
  readonly #judge: Judge | undefined;
  readonly #rules: readonly JudgedRule[];
  readonly #occasion: CallContext;
  readonly #holds: boolean;
  readonly #segments = new AnswerSegments();
  readonly #delivered = new DeliveredItems();
  readonly #findings = new Map<JudgedRule, JudgeFinding>();
  #held: Held[] = [];
  #unjudged = 0;
  #failure: { readonly error: unknown } | undefined;
  #committed = false;
  /** Whether a verdict has come since the main loop last looked. */
  #changed = false;
  #wake = () => {};

  constructor(judge: Judge | undefined, rules: readonly JudgedRule[], occasion: CallContext) {
    this.#judge = judge;
    this.#rules = rules;
    this.#occasion = occasion;
    this.#holds = rules.some((rule) => rule.action.stops && !isAudit(rule));
  }

  /**
   * Delivers the answer. Once something was delivered, a block ends the answer as incomplete instead of throwing.
   * @throws Fault GUARDRAIL_BLOCKED before anything was delivered; UNAVAILABLE without a verdict
   */
  async *guard(answer: StoppableAnswer): AsyncGenerator<Batch> {
    let reading: Promise<IteratorResult<Batch> | undefined> | undefined;
    let over = false;
    try {
      for (;;) {
        this.#changed = false;
        const { refusal } = this.#buildJudgement();
        const ready = refusal ? [] : this.#takeReady();
        if (ready.length > 0) yield this.#noteDelivered(ready);
        if (this.#failure) throw this.#failure.error;
        if (refusal) {
          this.#pushStages();
          await answer.stop(blocked);
          if (!this.#committed || refusal.reason !== FaultReason.GUARDRAIL_BLOCKED) throw refusal;
          yield this.#noteDelivered(this.#delivered.endAsIncomplete(this.#occasion.scope.trace.usage));
          return;
        }
        if (over && this.#held.length === 0) return;
        if (!over && this.#unjudged < maxUnjudged) reading ??= answer.next();
        const result = await Promise.race(reading ? [reading, this.#nextVerdict()] : [this.#nextVerdict()]);
        if (result === undefined) continue;
        reading = undefined;
        if (result.done === true) over = true;
        else for (const event of result.value) this.#take(event);
      }
    } finally {
      if (!over) await answer.stop(blocked);
    }
  }

  #take(event: TurnEvent): void {
    const { awaits, closed } = this.#segments.take(event);
    for (const segment of closed) this.#judgeSegment(segment);
    this.#held.push({ event, awaits });
  }

  #judgeSegment(segment: JudgedSegment): void {
    this.#unjudged++;
    judgeTexts(this.#judge, this.#rules, [segment.text], this.#occasion)
      .then((findings) => this.#noteFindings(findings))
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(() => {
        segment.judged = true;
        this.#unjudged--;
        this.#changed = true;
        this.#wake();
      });
  }

  /** Keeps the worst finding of each rule over all segments. */
  #noteFindings(findings: readonly JudgeFinding[]): void {
    for (const finding of findings) {
      const known = this.#findings.get(finding.rule);
      if (!known || known.outcome === "followed" || finding.outcome === "broken")
        this.#findings.set(finding.rule, finding);
    }
  }

  /** Resolves when the next verdict has come. */
  #nextVerdict(): Promise<undefined> {
    if (this.#changed) return Promise.resolve(undefined);
    return new Promise((resolve) => (this.#wake = () => resolve(undefined)));
  }

  #buildJudgement(): Judgement {
    return buildJudgement([...this.#findings.values()], this.#judge, "Response");
  }

  #canDeliver({ event, awaits }: Held): boolean {
    if (event.type === "end") return this.#unjudged === 0;
    return !this.#holds || awaits.every(({ judged }) => judged);
  }

  #takeReady(): TurnEvent[] {
    const count = this.#held.findIndex((held) => !this.#canDeliver(held));
    const ready = this.#held.splice(0, count === -1 ? this.#held.length : count).map(({ event }) => event);
    if (ready.at(-1)?.type === "end") this.#pushStages();
    return ready;
  }

  #noteDelivered(batch: Batch): Batch {
    this.#delivered.note(batch);
    this.#committed ||= batch.some(isCommitPoint);
    return batch;
  }

  /** Adds the rules' stages to the receipt, before the final event carries it. */
  #pushStages(): void {
    this.#occasion.scope.trace.stages.push(...this.#buildJudgement().stages);
  }
}

interface BegunItem {
  readonly start: OutputItem;
  readonly texts: Map<TextKey, string>;
  readonly annotations: Map<number, unknown[]>;
}

class DeliveredItems {
  /** Items whose delivery has begun and not ended, by output index. */
  readonly #items = new Map<number, BegunItem>();

  note(events: readonly TurnEvent[]): void {
    for (const event of events) this.#note(event);
  }

  /** Events that end every unfinished item, and the answer itself, as incomplete. */
  endAsIncomplete(usage: Usage | undefined): readonly TurnEvent[] {
    const ends = [...this.#items].map(([index, { start, texts, annotations }]): TurnEvent => {
      const parts = [...texts].map(([key, shown]) => ({ key, delivered: shown }));
      return { type: "item.end", index, item: buildCutItem(start, parts, annotations) };
    });
    return [...ends, { type: "end", outcome: { ...cutOutcome, ...(usage && { usage }) } }];
  }

  #note(event: TurnEvent): void {
    if (event.type === "item.start") {
      this.#items.set(event.index, { start: event.item, texts: new Map(), annotations: new Map() });
      return;
    }
    const begun = "index" in event && event.index !== undefined ? this.#items.get(event.index) : undefined;
    if (!begun) return;
    if (event.type === "item.end") this.#items.delete(event.index);
    else if (event.type === "annotation") {
      begun.annotations.set(event.part, [...(begun.annotations.get(event.part) ?? []), event.annotation]);
    } else if ("delta" in event) {
      const key = toTextKey(event);
      begun.texts.set(key, (begun.texts.get(key) ?? "") + event.delta);
    }
  }
}

/** Outcome of an answer a guardrail has cut. */
const cutOutcome = { status: "incomplete", reason: "content_filter", serviceTier: "default" } as const;
