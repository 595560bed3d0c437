/** Notes how an endpoint does while its answer passes. Only of endpoints that stand beside others: of one alone nothing would follow. */
import type { Scope } from "../turn/scope.ts";
import type { Batch } from "../turn/turn.ts";
import type { EndpointRecord, EndpointRecords } from "./endpoint-record.ts";

/** Shorter answers say nothing about the speed of longer ones. */
const leastTokens = 16;
const leastSeconds = 0.05;

/** Of an answer that is given out as it comes. @param startedAt when the endpoint was asked, by the clock of the records */
export function measured(
  batches: AsyncIterable<Batch>,
  record: EndpointRecord,
  { now }: EndpointRecords,
  startedAt: number,
  { signal }: Scope,
): AsyncIterable<Batch> {
  const firstAt = now();
  record.latency.add((firstAt - startedAt) / 1_000, firstAt);
  const note = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    const last = result.done === true ? undefined : result.value.at(-1);
    if (last?.type === "end") noteThroughput(record, last.outcome.usage?.outputTokens ?? 0, firstAt, now());
    return result;
  };
  const noteFailure = (error: unknown): never => {
    if (!signal.aborted) record.attempt(false, now());
    throw error;
  };
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      return {
        next: () => iterator.next().then(note, noteFailure),
        return: () => iterator.return?.() ?? Promise.resolve({ value: undefined, done: true }),
      };
    },
  };
}

function noteThroughput(record: EndpointRecord, tokens: number, firstAt: number, now: number): void {
  const seconds = (now - firstAt) / 1_000;
  if (tokens >= leastTokens && seconds >= leastSeconds) record.throughput.add(tokens / seconds, now);
}
