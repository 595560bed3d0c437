/** Audit mode of the plugin `alignment`: the stream passes unchanged; the evaluation runs after the last delta and delays only the end event. */
import { toGeneratedAnswer } from "../../turn/answer-kinds.ts";
import type { Answer, Batch, OutputItem, Turn } from "../../turn/turn.ts";
import { toMessage } from "./message.ts";
import { recordEvaluation, toAlignmentReport, buildAlignmentStage } from "./report.ts";
import type { AlignedTurn } from "./turn.ts";

export const auditLayer =
  (next: Turn) =>
  (turn: AlignedTurn): Answer =>
    toGeneratedAnswer(watched(next(turn.request, turn.scope), turn));

async function* watched(batches: Answer, { evaluator, evaluated, request, scope }: AlignedTurn): AsyncGenerator<Batch> {
  const { trace } = scope;
  const items: OutputItem[] = [];
  for await (const batch of batches) {
    for (const event of batch) if (event.type === "item.end") items.push(event.item);
    const last = batch.at(-1);
    if (last?.type !== "end") {
      yield batch;
      continue;
    }
    if (batch.length > 1) yield batch.slice(0, -1);
    const from = trace.aligned.length;
    recordEvaluation(trace, await evaluator.evaluate(toMessage(items), { request, scope }));
    trace.stages.push(buildAlignmentStage(trace.aligned.slice(from), evaluated()));
    yield [{ type: "end", outcome: { ...last.outcome, alignment: toAlignmentReport(trace) } }];
  }
}
