/** A turn: one request to a model and everything that comes back. All parts of inference-svc share this contract. */
import type { TurnRequest } from "./request.ts";
import type { AlignmentReport } from "./alignment.ts";
import type { Scope } from "./scope.ts";
import type { DroppedField } from "./trace.ts";
import type { Usage } from "./usage.ts";

/** A Responses item in its JSON form. Fields unknown to Sluice pass through. */
export type OutputItem = { readonly type: string; readonly id: string; readonly [field: string]: unknown };

export type TurnEvent =
  /** The request body to be sent, without credentials. Comes before every other event, and only on request. */
  | { readonly type: "debug"; readonly bodyJson: string }
  /** The serving slug. Comes first once an endpoint has committed. It has the prompt tokens for the doors that report them at the start. */
  | {
      readonly type: "start";
      readonly model: string;
      readonly inputTokens?: number | undefined;
      readonly altered?: readonly DroppedField[] | undefined;
      /** Fields outside the contract sent to the provider. */
      readonly passed?: readonly string[] | undefined;
    }
  /** A new item with status in_progress and without content. Indices are 0, 1, 2 ... in the order of `output`. */
  | { readonly type: "item.start"; readonly index: number; readonly item: OutputItem }
  | {
      readonly type: "text.delta" | "refusal.delta" | "reasoning.delta" | "summary.delta";
      readonly index: number;
      /** Index of the part within the item, of the summary part for summary.delta. A part gets no more deltas once another has begun. */
      readonly part: number;
      readonly delta: string;
      /** Log probabilities as a JSON array; only with text.delta, and only on request. */
      readonly logprobsJson?: string;
    }
  /** A piece of the arguments or input of a call; the item's type tells which. */
  | { readonly type: "arguments.delta"; readonly index: number; readonly delta: string }
  /** A provider's own event, passed on unchanged. */
  | {
      readonly type: "native";
      /** Index of its item; absent when it belongs to none. */
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
  /** Reason of an incomplete answer. */
  readonly reason?: "max_output_tokens" | "content_filter" | undefined;
  /**
   * A narrower reason, when the provider names it: `model_context_window_exceeded`, `pause_turn` (it paused tools of its own), or the category of
   * a refusal.
   */
  readonly detail?: string | undefined;
  /** Consumption of the turn; absent when nothing is known. */
  readonly usage?: Usage | undefined;
  /** The tier served. */
  readonly serviceTier: string;
  /** The entry of `stop` that ended the answer, when the provider names it. */
  readonly stopSequence?: string | undefined;
  /** Absent without the alignment plugin. */
  readonly alignment?: AlignmentReport | undefined;
}

/** All events from one upstream read, in order; never empty. Batches keep layers and frames cheap. */
export type Batch = readonly TurnEvent[];

/** The next batch; "pending" when none is there yet, and "end" after the last. */
export type NextBatch = Batch | "pending" | "end";

/**
 * The answer to a turn. Its first batch commits: a failure before it becomes an HTTP status, a later failure a failed event. An answer is read to its end
 * or closed, or its scope is aborted.
 *
 * Batches are pulled through the layers and pushed at both ends, where sockets decide the time:
 *
 *   client ◀──push── gateway ◀──push── AnswerDelivery ──pull──▶ layer ──pull──▶ layer ──pull──▶ provider's answer ◀──push── its socket
 *            write              frame                   next()          next()          next()                     bytes
 *
 * A pull never waits. It returns a batch, "end" or "pending". After "pending" the provider's answer keeps `wake`; the next bytes call it, and
 * AnswerDelivery pulls again through all layers. So a batch needs no promise: one in each layer cost more than the work of the layers. A client that
 * does not read stops the pulling, then the socket. Layers with other asynchronous work, such as the agent loop, are generators that read with
 * `for await`; `generated` makes an answer of them. Every other reader does this:
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

  /** Stops work still running for an answer no longer read. Settles when it has ended; undefined when it ends at once. */
  abstract close(): Promise<void> | undefined;

  [Symbol.asyncIterator](): AsyncIterator<Batch, undefined> {
    return new AnswerIterator(this);
  }
}

/** Reads an answer with promises, for layers with other asynchronous work. */
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

/** Begins a turn. It may throw at once what its answer would throw later. */
export type Turn = (request: TurnRequest, scope: Scope) => Answer;

/**
 * Wraps a turn in another. The first layer of a list is the outermost, as in Koa: it sees the request first, and the answer last.
 *
 *   request ──▶ outer ──▶ inner ──▶ attempt
 *   answer  ◀── outer ◀── inner ◀──────┘
 *
 * A layer decides whether and how often the next one runs. Most need only the request or the batches: `onRequest` and `onBatch` build those.
 *
 *   const upperCase: Layer = (next) => (request, scope) => {
 *     if (request.stream) throw invalid("stream", "must be false"); // A refusal: no inner layer runs.
 *     const answer = next({ ...request, temperature: 0 }, scope); // The request on its way in.
 *     return new UpperCase(answer); // The answer on its way out.
 *   };
 *
 *   class UpperCase extends PassedAnswer {
 *     protected override passed(batch: Batch): Batch {
 *       return batch.map((event) => (event.type === "text.delta" ? { ...event, delta: event.delta.toUpperCase() } : event));
 *     }
 *   }
 */
export type Layer = (next: Turn) => Turn;

export const compose = (layers: readonly Layer[], innermost: Turn): Turn =>
  layers.reduceRight<Turn>((next, layer) => layer(next), innermost);

/** Whether a client may act on the event. Before the first such event a failure may move to another endpoint, after it never. */
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
