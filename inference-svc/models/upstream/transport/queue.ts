/** The events of an answer between socket and consumer. All waiting events are delivered as one batch. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { Answer, type NextBatch, type TurnEvent, isCommitPoint } from "../../../turn/turn.ts";

export interface QueueHooks {
  /** Called when the consumer has taken all waiting events. */
  taken(): void;
  /** Called when the consumer leaves. */
  left(): void;
}

export class BatchQueue extends Answer {
  readonly #whole: boolean;
  readonly #hooks: QueueHooks;
  #wake: (() => void) | undefined;
  #events: TurnEvent[] = [];
  #failure: Fault | undefined;
  #ended = false;
  #open = false;
  /** Number of bytes read for the waiting events. */
  unreadBytes = 0;
  /** UTF-16 units of all deltas so far. */
  textUnits = 0;
  /** Number of all other events so far. */
  otherEvents = 0;
  committed = false;

  /** @param whole whether nothing is delivered before the end */
  constructor(whole: boolean, hooks: QueueHooks) {
    super();
    this.#whole = whole;
    this.#hooks = hooks;
  }

  emit(event: TurnEvent): void {
    this.#events.push(event);
    if ("delta" in event) this.textUnits += event.delta.length;
    else this.otherEvents++;
    this.committed ||= isCommitPoint(event);
  }

  end(): void {
    this.#ended = true;
  }

  fail(fault: Fault): void {
    this.#failure = fault;
    // Nothing was delivered and nothing will be: the events are dropped, because the turn may go on with another
    // attempt.
    if (!this.#open) this.#events = [];
  }

  /** Whether events are delivered as they come, so the queue must be bounded. */
  get open(): boolean {
    return this.#open;
  }

  /** Whether events wait for the consumer. */
  get waits(): boolean {
    return this.#events.length > 0;
  }

  /** Delivers the waiting events, if they may be delivered now. */
  flush(): void {
    const wake = this.#wake;
    if (!wake || !this.#isReady) return;
    this.#wake = undefined;
    wake();
  }

  override next(wake: () => void): NextBatch {
    if (!this.#isReady) {
      this.#wake = wake;
      return "pending";
    }
    // A failure before the first delivery replaces everything that was read.
    if (this.#failure && !(this.#open && this.waits)) throw this.#failure;
    this.#open = true;
    const batch = this.#events;
    if (batch.length === 0) return "end";
    this.#events = [];
    this.unreadBytes = 0;
    this.#hooks.taken();
    return batch;
  }

  /** Whether the first batch can be delivered: it waits for an event that commits, or for the whole answer when there is no stream. */
  get #isReady(): boolean {
    if (this.#failure || this.#ended) return true;
    return this.#open ? this.waits : this.committed && !this.#whole;
  }

  override close(): undefined {
    this.#events = [];
    this.#ended = true;
    this.#failure = undefined;
    this.#hooks.left();
  }
}
