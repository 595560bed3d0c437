/** Answers as whoever asked wants them: from the first event on, or whole. */
import type { Batch, TurnEvent } from "../turn/turn.ts";

/** What comes before all that a provider says: the bodies that were sent, then the start. */
const opening = (model: string, bodies: readonly string[]): readonly TurnEvent[] => [
  ...bodies.map((bodyJson) => ({ type: "debug" as const, bodyJson })),
  { type: "start", model },
];

/** Hand-written: a generator would cost something at every batch for what concerns only the first. */
export function withStart(
  model: string,
  bodies: readonly string[],
  batches: AsyncIterable<Batch>,
): AsyncIterable<Batch> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = batches[Symbol.asyncIterator]();
      let first = true;
      return {
        next() {
          if (!first) return iterator.next();
          first = false;
          return iterator.next().then((result): IteratorResult<Batch> => {
            if (result.done === true) return result;
            return { value: [...opening(model, bodies), ...result.value], done: false };
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

/** By hand for the same reason. */
function once(batch: Batch): AsyncIterable<Batch> {
  return {
    [Symbol.asyncIterator]() {
      let given = false;
      return {
        next() {
          if (given) return Promise.resolve({ value: undefined, done: true });
          given = true;
          return Promise.resolve({ value: batch, done: false });
        },
      };
    },
  };
}
