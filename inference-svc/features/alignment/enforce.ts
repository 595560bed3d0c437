/**
 * Enforce mode of the plugin `alignment`: delivers nothing of an answer before its evaluation. A rejected answer is
 * withheld and the same endpoint is called again with the reasons; when the retries are used up, the turn fails.
 */
import { requestWithItems } from "../../turn/scan-added.ts";
import type { Evaluation } from "../../turn/alignment.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { toGeneratedAnswer, holdUntilCommit } from "../../turn/answer-kinds.ts";
import {
  type Answer,
  type Batch,
  type Layer,
  type OutputItem,
  type Turn,
  type TurnEvent,
  compose,
} from "../../turn/turn.ts";
import { StoppableAnswer } from "../../turn/layer-builders.ts";
import { Draft } from "./draft.ts";
import type { Evaluator } from "./evaluator.ts";
import { toMessage } from "./message.ts";
import {
  alignmentBlockedFault,
  brokenRules,
  recordEvaluation,
  toAlignmentReport,
  buildAlignmentStage,
  unevaluatedFault,
} from "./report.ts";
import { rewriteItem } from "./instructions.ts";
import type { AlignedTurn } from "./turn.ts";

/** Abort reason for the provider call of an answer that is certain to be rejected: the rest is not read. */
const failed = new Error("cannot be allowed by the alignment plugin");

/** @param guards layers for the items added by a retry */
export const enforceLayer =
  (next: Turn, guards: readonly Layer[]) =>
  (turn: AlignedTurn): Answer => {
    const first = new StoppableAnswer((scope) => next(turn.request, scope), turn.scope);
    const batches = toGeneratedAnswer(withheld(first, turn, again(next, guards, turn)));
    // A streaming client gets the start event of the first answer, and is kept alive until the verdict; a request
    // without a stream gets nothing before the verdict.
    return turn.request.stream ? batches : holdUntilCommit(batches);
  };

async function* withheld(
  first: StoppableAnswer,
  turn: AlignedTurn,
  retryWith: (item: ReturnType<typeof rewriteItem>) => StoppableAnswer,
): AsyncGenerator<Batch> {
  const { settings, evaluator, evaluated, request, scope } = turn;
  const { trace } = scope;
  const from = trace.aligned.length;
  let answer = first;
  for (let retries = settings.maxRetries; ; retries--) {
    const held = new Held();
    const begun = yield* held.read(answer, evaluator, answer === first);
    const message = toMessage(held.items);
    const evaluation = begun ?? (await evaluator.evaluate(message, { request, scope }));
    throwIfAborted(scope.signal);
    recordEvaluation(trace, evaluation);
    const isLast = evaluation.outcome !== "blocked" || retries === 0;
    if (isLast) trace.stages.push(buildAlignmentStage(trace.aligned.slice(from), evaluated()));
    if (evaluation.outcome === "unavailable") throw unevaluatedFault(trace, evaluation);
    if (evaluation.outcome === "allowed") {
      yield* held.released(toAlignmentReport(trace));
      return;
    }
    if (isLast) throw alignmentBlockedFault(trace, evaluation, held.items);
    answer = retryWith(rewriteItem(message, settings.rules, brokenRules(evaluation)));
  }
}

/** Calls the same endpoint again, with one added item the guardrails scan like any input. */
function again(next: Turn, guards: readonly Layer[], { request, scope }: AlignedTurn) {
  const guarded = compose(guards, ({ input: [...added] }, inner) =>
    next(
      { ...request, input: [...request.input, ...added] },
      inner.with({ again: inner.again === "once" ? "once" : "alone" }),
    ),
  );
  return (item: ReturnType<typeof rewriteItem>) =>
    new StoppableAnswer((inner) => guarded(requestWithItems(request, [item]), inner), scope);
}

/** An answer under evaluation, not delivered yet. */
class Held {
  readonly #batches: Batch[] = [];
  readonly #draft = new Draft();

  /** Items of the answer; a stopped answer may contain incomplete items. */
  get items(): readonly OutputItem[] {
    return this.#draft.items;
  }

  /**
   * Reads the answer to its end, or until its rejection is certain.
   * @param isOpened whether events without content are yielded: the start event with the model, and the debug echo
   * @returns the evaluation of a stopped answer
   */
  async *read(
    answer: StoppableAnswer,
    evaluator: Evaluator,
    isOpened: boolean,
  ): AsyncGenerator<Batch, Evaluation | undefined> {
    let isOver = false;
    try {
      for (;;) {
        const result = await answer.next();
        if (result.done === true) break;
        const opening = this.#take(result.value);
        if (isOpened && opening.length > 0) yield opening;
        const begun = this.#draft.takeNews();
        const evaluation = begun && !this.#isEnded ? evaluator.evaluateBegun(begun) : undefined;
        if (evaluation) return evaluation;
      }
      isOver = true;
      return undefined;
    } finally {
      if (!isOver) await answer.stop(failed);
    }
  }

  /** Whether the answer has already ended. */
  get #isEnded(): boolean {
    return this.#batches.at(-1)?.at(-1)?.type === "end";
  }

  /** Keeps a batch. @returns the events without content, for immediate delivery */
  #take(batch: Batch): Batch {
    const isOpening = ({ type }: TurnEvent) => type === "debug" || type === "start";
    const rest = batch.filter((event) => !isOpening(event));
    for (const event of rest) this.#draft.take(event);
    if (rest.length > 0) this.#batches.push(rest);
    return batch.filter(isOpening);
  }

  *released(alignment: ReturnType<typeof toAlignmentReport>): Iterable<Batch> {
    for (const batch of this.#batches) {
      const last = batch.at(-1);
      yield last?.type === "end"
        ? [...batch.slice(0, -1), { type: "end", outcome: { ...last.outcome, alignment } }]
        : batch;
    }
  }
}
