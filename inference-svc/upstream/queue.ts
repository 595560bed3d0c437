/** The events of an answer between the socket and the consumer: whatever nobody has taken yet is one batch. */
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { type Batch, type TurnEvent, commits } from "../turn/turn.ts";

export interface QueueHooks {
  /** Everything that waited was taken. */
  readonly taken: () => void;
  /** The consumer wants no more. */
  readonly left: () => void;
}

interface Settling<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (fault: Fault) => void;
}

export class BatchQueue implements AsyncIterable<Batch>, AsyncIterator<Batch> {
  /** Settles as a turn does: with the first committing event, or with the whole answer. */
  readonly opened: Promise<AsyncIterable<Batch>>;
  readonly #whole: boolean;
  readonly #hooks: QueueHooks;
  #opening: Settling<AsyncIterable<Batch>> | undefined;
  #waiting: Settling<IteratorResult<Batch>> | undefined;
  #events: TurnEvent[] = [];
  #failure: Fault | undefined;
  #ended = false;
  /** Bytes read for what waits. */
  unreadBytes = 0;
  committed = false;

  /** @param whole nothing is given out before the end */
  constructor(whole: boolean, hooks: QueueHooks) {
    this.#whole = whole;
    this.#hooks = hooks;
    this.opened = new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
    });
  }

  emit(event: TurnEvent): void {
    this.#events.push(event);
    this.committed ||= commits(event);
  }

  end(): void {
    this.#ended = true;
  }

  fail(fault: Fault): void {
    this.#failure = fault;
  }

  /** True when a consumer is there: from then on what waits has to be bounded. */
  get open(): boolean {
    return this.#opening === undefined;
  }

  /** Whether anything waits to be taken. */
  get waits(): boolean {
    return this.#events.length > 0;
  }

  /** Gives out what there is. A failure that is known before anything was given out is all that is given out. */
  flush(): void {
    if (this.#opening) return this.#tryOpen(this.#opening);
    if (!this.#waiting) return;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#events.length > 0) waiting.resolve(this.#take());
    else if (this.#failure) waiting.reject(this.#failure);
    else if (this.#ended) waiting.resolve({ value: undefined, done: true });
    else this.#waiting = waiting;
  }

  #tryOpen(opening: Settling<AsyncIterable<Batch>>): void {
    const ready = this.#ended || (this.committed && !this.#whole);
    if (!this.#failure && !ready) return;
    this.#opening = undefined;
    if (this.#failure) opening.reject(this.#failure);
    else opening.resolve(this);
  }

  #take(): IteratorResult<Batch> {
    const value = this.#events;
    this.#events = [];
    this.unreadBytes = 0;
    this.#hooks.taken();
    return { value, done: false };
  }

  next(): Promise<IteratorResult<Batch>> {
    if (this.#events.length > 0) return Promise.resolve(this.#take());
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.flush();
    });
  }

  return(): Promise<IteratorResult<Batch>> {
    this.#events = [];
    this.#ended = true;
    this.#failure = undefined;
    this.#hooks.left();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): AsyncIterator<Batch> {
    return this;
  }
}
