/** Splits an embeddings request for endpoints that take few inputs per call. All calls together are one attempt, with one bill. */
import type { EmbeddingSettings, TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { toGeneratedAnswer, readToEnd } from "../../../turn/answer-kinds.ts";
import type { Batch, Outcome, Turn } from "../../../turn/turn.ts";
import { type Usage, sumUsage } from "../../../turn/usage.ts";
import { answerEnd } from "../events/answer-end.ts";
import { countInputs, readVectors, vectorsItem } from "./translator.ts";

/** Maximum concurrent calls of one request: a long list is answered in reasonable time, and takes few of the provider's connections. */
const concurrentCalls = 8;

/** @param maxInputs maximum inputs of one call */
export const splitInputs =
  (turn: Turn, maxInputs: number): Turn =>
  (request, scope) =>
    countInputs(request) <= maxInputs
      ? turn(request, scope)
      : toGeneratedAnswer(answerParts(turn, splitRequest(request, maxInputs), scope));

function splitRequest(request: TurnRequest, maxInputs: number): readonly TurnRequest[] {
  const embedding = request.embedding as EmbeddingSettings;
  const { tokens } = embedding;
  return Array.from({ length: Math.ceil(countInputs(request) / maxInputs) }, (_, part) => {
    const [start, end] = [part * maxInputs, (part + 1) * maxInputs];
    return tokens
      ? { ...request, embedding: { ...embedding, tokens: tokens.slice(start, end) } }
      : { ...request, input: request.input.slice(start, end) };
  });
}

async function* answerParts(turn: Turn, parts: readonly TurnRequest[], scope: Scope): AsyncGenerator<Batch> {
  const answers: Batch[] = [];
  let next = 0;
  const answerNext = async () => {
    for (let part = parts[next]; part; part = parts[next]) {
      const place = next++;
      try {
        answers[place] = await readToEnd(turn(part, scope));
      } catch (error) {
        next = parts.length;
        throw error;
      }
    }
  };
  // When a call fails, the calls still running are read to their end, because the provider charges for them.
  const outcomes = await Promise.allSettled(Array.from({ length: concurrentCalls }, answerNext));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) {
    chargeAnswered(answers, scope);
    throw failed.reason;
  }
  yield joinAnswers(answers);
}

function chargeAnswered(answers: readonly Batch[], { trace }: Scope): void {
  const usage = sumUsage(answers.map(usageOf));
  if (!usage) return;
  trace.report(usage);
  trace.abandon();
}

function joinAnswers(answers: readonly Batch[]): Batch {
  const usages = answers.map(usageOf);
  // There is no sum if the count of one part is missing: it would be too small and look exact.
  const usage = usages.every((each) => each !== undefined) ? sumUsage(usages) : undefined;
  const tier = outcomeOf(answers[0] ?? [])?.serviceTier ?? "";
  return [vectorsItem(answers.flatMap(readVectors)), answerEnd("completed", undefined, usage, tier)];
}

function outcomeOf(batch: Batch): Outcome | undefined {
  const last = batch.at(-1);
  return last?.type === "end" ? last.outcome : undefined;
}

const usageOf = (batch: Batch): Usage | undefined => outcomeOf(batch)?.usage;
