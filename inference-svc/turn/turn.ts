/** A turn: one request to a model and everything that comes back. All parts of inference-svc share this contract. */
import type { TurnRequest } from "./request.ts";
import type { AlignmentReport } from "./alignment.ts";
import type { Scope } from "./scope.ts";
import type { DroppedField } from "./trace.ts";
import type { Usage } from "./usage.ts";

/** A Responses item in its JSON form. Fields unknown to Sluice pass through. */
export type OutputItem = { readonly type: string; readonly id: string; readonly [field: string]: unknown };

export type TurnEvent =
  /** The request body to be sent, without credentials. Comes before every other event, and only if the client requested it. */
  | { readonly type: "debug"; readonly bodyJson: string }
  /**
   * Slug of the model that answers. Comes first once an endpoint has committed. Contains the prompt tokens for the
   * doors that report them at the start.
   */
  | {
      readonly type: "start";
      readonly model: string;
      readonly inputTokens?: number | undefined;
      readonly altered?: readonly DroppedField[] | undefined;
      /** Unknown fields of the request that were sent to the provider. */
      readonly passed?: readonly string[] | undefined;
    }
  /** A new item, with the status in_progress and without content. Indices are 0, 1, 2 ... in the order of `output`. */
  | { readonly type: "item.start"; readonly index: number; readonly item: OutputItem }
  | {
      readonly type: "text.delta" | "refusal.delta" | "reasoning.delta" | "summary.delta";
      readonly index: number;
      /** Index of the part within the item; of the summary part for summary.delta. A part gets no more deltas once another has begun. */
      readonly part: number;
      readonly delta: string;
      /** Log probabilities as a JSON array; only with text.delta, and only if the client requested them. */
      readonly logprobsJson?: string;
    }
  /** A piece of a call's arguments or input; the type of the item tells which of the two. */
  | { readonly type: "arguments.delta"; readonly index: number; readonly delta: string }
  /** A provider's own event, passed on unchanged. */
  | {
      readonly type: "native";
      /** Index of the item to which the event belongs; absent when it belongs to none. */
      readonly index?: number;
      /** Event type, such as response.web_search_call.searching. */
      readonly name: string;
      /** Payload as a JSON object, without type, sequence_number, item_id and output_index. */
      readonly payloadJson: string;
    }
  | { readonly type: "annotation"; readonly index: number; readonly part: number; readonly annotation: unknown }
  /** The whole item; its text equals the deltas before it. */
  | { readonly type: "item.end"; readonly index: number; readonly item: OutputItem }
  /** The last event of a turn. A failed turn throws instead. */
  | { readonly type: "end"; readonly outcome: Outcome };

export interface Outcome {
  readonly status: "completed" | "incomplete";
  /** Why the answer is incomplete; undefined for a complete one. */
  readonly reason?: "max_output_tokens" | "content_filter" | undefined;
  /**
   * A narrower reason, if the provider gives one: `model_context_window_exceeded`, `pause_turn` (the provider has
   * paused tools of its own), or the category of a refusal.
   */
  readonly detail?: string | undefined;
  /** Consumption of the turn; absent when nothing is known. */
  readonly usage?: Usage | undefined;
  /** Service tier that served. */
  readonly serviceTier: string;
  /** The entry of `stop` at which the answer ended, if the provider names it. */
  readonly stopSequence?: string | undefined;
  /** True where the provider reported an end, and the limit is inferred from a call that breaks off. */
  readonly isInferred?: boolean | undefined;
  /** Absent without the alignment plugin. */
  readonly alignment?: AlignmentReport | undefined;
}

/** All events from one read of the provider's socket, in order; never empty. Batches make layers and frames cheap. */
export type Batch = readonly TurnEvent[];

/** Result of taking the next batch: "pending" when none is there yet, and "end" after the last. */
export type NextBatch = Batch | "pending" | "end";

/**
 * The answer to a turn. Its first batch commits: a failure before it becomes an HTTP status, a later one a failed event. An answer must be read to its end
 * or closed, or its scope aborted.
 *
 * Batches are pulled through the layers and pushed at both ends, where sockets decide the time:
 *
 *   client ◀──push── gateway ◀──push── AnswerDelivery ──pull──▶ layer ──pull──▶ layer ──pull──▶ provider's answer ◀──push── its socket
 *            write              frame                   next()          next()          next()                     bytes
 *
 * A pull never waits. It returns a batch, "end" or "pending". After "pending" the provider's answer keeps `wake`; the next bytes call it, and
 * AnswerDelivery pulls again through all layers. So a batch needs no promise: a promise in each layer would cost more than the layers' work. A client that
 * does not read stops the pulling, then the socket. Layers with other asynchronous work, such as the agent loop, are generators that read with
 * `for await`; `toGeneratedAnswer` makes an answer of one. Every other reader does this:
 *
 *   const answer = next(request, scope);
 *   for (;;) {
 *     const batch = answer.next(wake);
 *     if (batch === "pending") return; // until wake() is called
 *     if (batch === "end") break;
 *     deliver(batch);
 *   }
 */
export abstract class Answer implements AsyncIterable<Batch> {
  /**
   * Takes the next batch.
   * @param wake called once after "pending", and never during this call, when `next` may have a result
   * @throws the failure of the turn
   */
  abstract next(wake: () => void): NextBatch;

  /**
   * Stops work that still runs for an answer that is read no further. @returns a promise that settles when the work has
   * ended; undefined when it ends at once
   */
  abstract close(): Promise<void> | undefined;

  [Symbol.asyncIterator](): AsyncIterator<Batch, undefined> {
    return new AnswerIterator(this);
  }
}

/** Reads an answer with promises, for layers that wait for other work. */
class AnswerIterator implements AsyncIterator<Batch, undefined> {
  readonly #answer: Answer;
  #resume = () => {};
  readonly #wake = () => this.#resume();

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  async next(): Promise<IteratorResult<Batch, undefined>> {
    for (;;) {
      const next = this.#answer.next(this.#wake);
      if (next === "end") return { value: undefined, done: true };
      if (next !== "pending") return { value: next, done: false };
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Batch, undefined>> {
    await this.#answer.close();
    return { value: undefined, done: true };
  }
}

/** Begins a turn. A failure its answer would throw may be thrown at once. */
export type Turn = (request: TurnRequest, scope: Scope) => Answer;

/**
 * Wraps a turn in another. The first layer of a list is the outermost, as in Koa: it sees the request first, and the answer last.
 *
 *   request ──▶ outer ──▶ inner ──▶ attempt
 *   answer  ◀── outer ◀── inner ◀──────┘
 *
 * A layer decides whether and how often the next one runs. Most need only the request or the batches: `requestLayer` and `batchLayer` build such layers.
 *
 *   const upperCase: Layer = (next) => (request, scope) => {
 *     if (request.stream) throw invalid("stream", "must be false"); // A refusal: no inner layer runs.
 *     const answer = next({ ...request, temperature: 0 }, scope); // The request on its way in.
 *     return new UpperCase(answer); // The answer on its way out.
 *   };
 *
 *   class UpperCase extends ForwardedAnswer {
 *     protected override passed(batch: Batch): Batch {
 *       return batch.map((event) => (event.type === "text.delta" ? { ...event, delta: event.delta.toUpperCase() } : event));
 *     }
 *   }
 */
export type Layer = (next: Turn) => Turn;

export const compose = (layers: readonly Layer[], innermost: Turn): Turn =>
  layers.reduceRight<Turn>((next, layer) => layer(next), innermost);

/** Whether a client may act on the event. Before the first such event, a failure can fall back to another endpoint; after it, never. */
export function isCommitPoint(event: TurnEvent): boolean {
  switch (event.type) {
    case "debug":
    case "start":
      return false;
    case "item.start":
      return event.item.type !== "message" && event.item.type !== "reasoning";
    default:
      return true;
  }
}
