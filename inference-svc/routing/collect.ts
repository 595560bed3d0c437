/** Answers as whoever asked wants them: from the first event on, or whole. */
import type { Batch, TurnEvent } from "../turn/turn.ts";

/** Puts the start where it belongs: after the debug event, before all else. */
const started = (model: string, batch: Batch): Batch => {
  const debugs = batch.filter((event) => event.type === "debug");
  const start: TurnEvent = { type: "start", model };
  return debugs.length === 0
    ? [start, ...batch]
    : [...debugs, start, ...batch.filter((event) => event.type !== "debug")];
};

/** Hand-written: a generator would cost something at every batch for what concerns only the first. */
export function withStart(model: string, batches: AsyncIterable<Batch>): AsyncIterable<Batch> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      let first = true;
      return {
        next() {
          if (!first) return iterator.next();
          first = false;
          return iterator.next().then((result): IteratorResult<Batch> => {
            return result.done === true ? result : { value: started(model, result.value), done: false };
          });
        },
        return: () => iterator.return?.() ?? Promise.resolve({ value: undefined, done: true }),
      };
    },
  };
}

/** The whole answer as one batch: only what is whole, no deltas. */
export async function collected(model: string, batches: AsyncIterable<Batch>): Promise<AsyncIterable<Batch>> {
  const events: TurnEvent[] = [{ type: "start", model }];
  for await (const batch of batches) {
    events.push(...batch.filter((event) => event.type === "item.end" || event.type === "end"));
  }
  return once(events);
}

async function* once(batch: Batch): AsyncIterable<Batch> {
  yield batch;
}
