/**
 * Nothing of an answer is delivered before it was evaluated. One that breaks a rule is withheld, and whoever gave it is asked again, with what was
 * wrong with it; when that does not help, the turn fails.
 */
import { alone } from "../../guardrails/added.ts";
import { settled } from "../../guardrails/output/layer.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { type Batch, type Layer, type OutputItem, type Turn, type TurnEvent, compose } from "../../turn/turn.ts";
import { messageOf } from "./message.ts";
import { blocked, brokenOf, note, reportOf, stageOf, unevaluated } from "./report.ts";
import { rewriteItem } from "./told.ts";
import type { AlignedTurn } from "./turn.ts";

/** @param guards look at what a retry adds */
export const enforced =
  (next: Turn, guards: readonly Layer[]) =>
  async (turn: AlignedTurn): Promise<AsyncIterable<Batch>> => {
    const first = await next(turn.request, turn.scope);
    const batches = withheld(first, turn, again(next, guards, turn));
    // A stream begins once somebody answers, and is then alive until the verdict; without one nothing is to be said before.
    return turn.request.stream ? batches : settled(batches);
  };

async function* withheld(
  first: AsyncIterable<Batch>,
  turn: AlignedTurn,
  ask: (item: ReturnType<typeof rewriteItem>) => Promise<AsyncIterable<Batch>>,
): AsyncGenerator<Batch> {
  const { settings, evaluator, evaluated, request, scope } = turn;
  const { trace } = scope;
  const from = trace.aligned?.length ?? 0;
  let batches = first;
  for (let retries = settings.maxRetries; ; retries--) {
    const held = new Held();
    for await (const batch of batches) {
      const opening = held.take(batch);
      if (batches === first && opening.length > 0) yield opening;
    }
    const message = messageOf(held.items);
    const evaluation = await evaluator.evaluate(message, { request, scope });
    throwIfAborted(scope.signal);
    note(trace, evaluation);
    const isLast = evaluation.outcome !== "blocked" || retries === 0;
    if (isLast) trace.stages.push(stageOf(trace.aligned?.slice(from) ?? [], evaluated()));
    if (evaluation.outcome === "unavailable") throw unevaluated(trace, evaluation);
    if (evaluation.outcome === "allowed") {
      yield* held.released(reportOf(trace));
      return;
    }
    if (isLast) throw blocked(trace, evaluation, held.items);
    batches = await ask(rewriteItem(message, settings.rules, brokenOf(evaluation)));
  }
}

/** The same endpoint, with one item more, at which the guardrails look as at all that is asked. */
function again(next: Turn, guards: readonly Layer[], { request, scope }: AlignedTurn) {
  const guarded = compose(guards, ({ input: [...added] }, inner) =>
    next(
      { ...request, input: [...request.input, ...added] },
      {
        ...inner,
        again: inner.again === "once" ? "once" : "alone",
      },
    ),
  );
  return (item: ReturnType<typeof rewriteItem>): Promise<AsyncIterable<Batch>> =>
    guarded(alone(request, [item]), scope);
}

/** An answer that nobody has got. */
class Held {
  readonly #batches: Batch[] = [];
  readonly items: OutputItem[] = [];

  /** @returns what of it says nothing of the answer: who gives it, and what was sent */
  take(batch: Batch): Batch {
    const isOpening = ({ type }: TurnEvent) => type === "debug" || type === "start";
    const rest = batch.filter((event) => !isOpening(event));
    for (const event of rest) if (event.type === "item.end") this.items.push(event.item);
    if (rest.length > 0) this.#batches.push(rest);
    return batch.filter(isOpening);
  }

  *released(alignment: ReturnType<typeof reportOf>): Iterable<Batch> {
    for (const batch of this.#batches) {
      const last = batch.at(-1);
      yield last?.type === "end"
        ? [...batch.slice(0, -1), { type: "end", outcome: { ...last.outcome, alignment } }]
        : batch;
    }
  }
}
