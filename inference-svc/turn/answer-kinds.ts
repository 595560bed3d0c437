/** Kinds of answers from which turns and layers build their own. */
import { Answer, type Batch, type NextBatch, type TurnEvent, isCommitPoint } from "./turn.ts";

/** An answer whose events all exist at the start. */
export class WholeAnswer extends Answer {
  #batch: Batch;

  constructor(batch: Batch) {
    super();
    this.#batch = batch;
  }

  override next(): NextBatch {
    const batch = this.#batch;
    if (batch.length === 0) return "end";
    this.#batch = [];
    return batch;
  }

  override close(): undefined {
    this.#batch = [];
  }
}

/** Passes on the answer of another turn, and lets a layer observe or change it by overriding methods. */
export abstract class ForwardedAnswer extends Answer {
  readonly #answer: Answer;

  constructor(answer: Answer) {
    super();
    this.#answer = answer;
  }

  override next(wake: () => void): NextBatch {
    for (;;) {
      let next: NextBatch;
      try {
        next = this.#answer.next(wake);
      } catch (error) {
        throw this.failed(error);
      }
      if (next === "pending") return next;
      if (next === "end") {
        this.ended();
        return next;
      }
      const passed = this.passed(next);
      if (passed.length > 0) return passed;
    }
  }

  override close(): Promise<void> | undefined {
    this.left();
    return this.#answer.close();
  }

  /** Called with each batch. @returns the batch to deliver instead; empty to deliver none */
  protected abstract passed(batch: Batch): Batch;

  /** Called when the answer has failed. @returns the failure to deliver */
  protected failed(error: unknown): unknown {
    return error;
  }

  /** Called at the end of the answer. */
  protected ended(): void {}

  /** Called when the consumer stops reading the answer. */
  protected left(): void {}
}

/** An answer collected to its end and then delivered as one batch. */
export class CollectedAnswer extends Answer {
  readonly #answer: Answer;
  readonly #isWanted: (event: TurnEvent) => boolean;
  readonly #events: TurnEvent[] = [];
  #isGiven = false;

  /** @param isWanted whether an event is delivered */
  constructor(answer: Answer, isWanted: (event: TurnEvent) => boolean = () => true) {
    super();
    this.#answer = answer;
    this.#isWanted = isWanted;
  }

  override next(wake: () => void): NextBatch {
    if (this.#isGiven) return "end";
    for (;;) {
      const next = this.#answer.next(wake);
      if (next === "pending") return next;
      if (next === "end") break;
      for (const event of next) if (this.#isWanted(event)) this.#events.push(event);
    }
    this.#isGiven = true;
    return this.#events;
  }

  override close(): Promise<void> | undefined {
    return this.#answer.close();
  }
}

/** An answer whose failure is explained by `explain` as long as no event of it was delivered. */
class OpeningAnswer extends ForwardedAnswer {
  readonly #explain: (error: unknown) => unknown;
  #isOpen = false;

  constructor(answer: Answer, explain: (error: unknown) => unknown) {
    super(answer);
    this.#explain = explain;
  }

  protected override passed(batch: Batch): Batch {
    this.#isOpen = true;
    return batch;
  }

  protected override failed(error: unknown): unknown {
    return this.#isOpen ? error : this.#explain(error);
  }
}

/** Begins a turn. Its failure is passed through `explain` as long as no event of its answer was delivered. */
export function withExplainedFailure(begin: () => Answer, explain: (error: unknown) => unknown): Answer {
  let answer: Answer;
  try {
    answer = begin();
  } catch (error) {
    throw explain(error);
  }
  return new OpeningAnswer(answer, explain);
}

/** The answer of a turn that begins after a promise has settled. */
class DeferredAnswer extends Answer {
  #answer: Answer | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isClosed = false;
  #wake = () => {};

  constructor(begun: Promise<Answer>) {
    super();
    begun.then(this.#onBegun, this.#onFailed);
  }

  override next(wake: () => void): NextBatch {
    if (this.#answer) return this.#answer.next(wake);
    if (this.#failure) throw this.#failure.error;
    this.#wake = wake;
    return "pending";
  }

  override close(): Promise<void> | undefined {
    this.#isClosed = true;
    return this.#answer?.close();
  }

  readonly #onBegun = (answer: Answer): void => {
    this.#answer = answer;
    // The consumer has closed the answer before it began and reads no more of it, so nobody can receive an error from
    // closing it.
    if (this.#isClosed) answer.close()?.catch(() => {});
    this.#wake();
  };

  readonly #onFailed = (error: unknown): void => {
    this.#failure = { error };
    this.#wake();
  };
}

export const toDeferredAnswer = (begun: Promise<Answer>): Answer => new DeferredAnswer(begun);

/** An answer whose batches a generator makes, for layers that wait for other work between batches. */
class GeneratedAnswer extends Answer {
  readonly #batches: AsyncGenerator<Batch>;
  #next: NextBatch = "pending";
  #failure: { readonly error: unknown } | undefined;
  #isAsked = false;
  #wake = () => {};

  constructor(batches: AsyncGenerator<Batch>) {
    super();
    this.#batches = batches;
  }

  override next(wake: () => void): NextBatch {
    const next = this.#next;
    if (next === "end") return next;
    if (next !== "pending") {
      this.#next = "pending";
      return next;
    }
    if (this.#failure) throw this.#failure.error;
    this.#wake = wake;
    if (!this.#isAsked) {
      this.#isAsked = true;
      this.#batches.next().then(this.#onGiven, this.#onFailed);
    }
    return "pending";
  }

  override async close(): Promise<void> {
    await this.#batches.return(undefined);
  }

  readonly #onGiven = ({ value, done }: IteratorResult<Batch, void>): void => {
    this.#isAsked = false;
    this.#next = done === true ? "end" : value;
    this.#wake();
  };

  readonly #onFailed = (error: unknown): void => {
    this.#failure = { error };
    this.#wake();
  };
}

/** @param batches a generator that has not started, and yields no empty batch */
export const toGeneratedAnswer = (batches: AsyncGenerator<Batch>): Answer => new GeneratedAnswer(batches);

/** An answer whose events are held back until one of them commits. */
class CommittedAnswer extends ForwardedAnswer {
  #held: TurnEvent[] | undefined = [];

  protected override passed(batch: Batch): Batch {
    if (this.#held === undefined) return batch;
    this.#held.push(...batch);
    if (!this.#held.some(isCommitPoint)) return [];
    const held = this.#held;
    this.#held = undefined;
    return held;
  }
}

/** Holds events back until one commits, so a layer's refusal before it can still set the HTTP status. */
export const holdUntilCommit = (answer: Answer): Answer => new CommittedAnswer(answer);

/** Reads an answer to its end. @throws the failure of the answer */
export async function readToEnd(answer: Answer): Promise<Batch> {
  const events: TurnEvent[] = [];
  for await (const batch of answer) events.push(...batch);
  return events;
}
