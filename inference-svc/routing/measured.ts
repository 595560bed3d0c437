/** Notes how an endpoint does while its answer passes. Only of endpoints that stand beside others: of one alone nothing would follow. */
import type { Scope } from "../turn/scope.ts";
import type { Batch } from "../turn/turn.ts";
import type { WatchedAttempt } from "./ejection.ts";
import type { EndpointRecord, EndpointRecords } from "./endpoint-record.ts";

/** Shorter answers say nothing about the speed of longer ones. */
const leastTokens = 16;
const leastSeconds = 0.05;

/** Of an answer that is given out as it comes, whose first event is here. */
export function measured(
  batches: AsyncIterable<Batch>,
  attempt: WatchedAttempt,
  record: EndpointRecord,
  { now }: EndpointRecords,
  { signal }: Scope,
): AsyncIterable<Batch> {
  const firstAt = now();
  record.latency.add((firstAt - attempt.startedAt) / 1_000, firstAt);
  let open = true;
  const end = (well: boolean): void => {
    if (open) attempt.end(well ? "well" : "failed", now());
    open = false;
  };
  const note = (result: IteratorResult<Batch>): IteratorResult<Batch> => {
    const last = result.done === true ? undefined : result.value.at(-1);
    if (last?.type === "end") {
      noteThroughput(record, last.outcome.usage?.outputTokens ?? 0, firstAt, now());
      end(true);
    }
    return result;
  };
  const noteFailure = (error: unknown): never => {
    // Whoever left an answer that came as it should has nothing to say against it.
    end(signal.aborted);
    throw error;
  };
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      return {
        next: () => iterator.next().then(note, noteFailure),
        return() {
          end(true);
          return iterator.return?.() ?? Promise.resolve({ value: undefined, done: true });
        },
      };
    },
  };
}

function noteThroughput(record: EndpointRecord, tokens: number, firstAt: number, now: number): void {
  const seconds = (now - firstAt) / 1_000;
  if (tokens >= leastTokens && seconds >= leastSeconds) record.throughput.add(tokens / seconds, now);
}
