/** Measures the speed of an endpoint while its answer passes. A model's only endpoint is not measured, because nothing depends on its speed. */
import type { Scope } from "../../../turn/scope.ts";
import type { TurnSignal } from "../../../turn/signal.ts";
import type { Batch } from "../../../turn/turn.ts";
import type { ObservedAttempt } from "./ejection.ts";
import type { EndpointRecord, EndpointRecords } from "../records/endpoint-record.ts";

/** Minimum output tokens of a measured answer: shorter answers tell nothing about the speed of longer ones. */
const minTokens = 16;
const minSeconds = 0.05;

/** The measurement of a streamed answer, from its first event on. */
export class Measurement {
  readonly #attempt: ObservedAttempt;
  readonly #record: EndpointRecord;
  readonly #now: () => number;
  readonly #signal: TurnSignal;
  readonly #firstAt: number;
  #isOpen = true;

  constructor(attempt: ObservedAttempt, record: EndpointRecord, { now }: EndpointRecords, { signal }: Scope) {
    this.#attempt = attempt;
    this.#record = record;
    this.#now = now;
    this.#signal = signal;
    this.#firstAt = now();
    record.latency.add((this.#firstAt - attempt.startedAt) / 1_000, this.#firstAt);
  }

  note(batch: Batch): void {
    const last = batch.at(-1);
    if (last?.type !== "end") return;
    noteThroughput(this.#record, last.outcome.usage?.outputTokens ?? 0, this.#firstAt, this.#now());
    this.#end(true);
  }

  /** Ends the measurement. A client that leaves proves nothing against an endpoint that was answering. */
  failed(): void {
    this.#end(this.#signal.aborted);
  }

  left(): void {
    this.#end(true);
  }

  #end(well: boolean): void {
    if (this.#isOpen) this.#attempt.end(well ? "well" : "failed", this.#now());
    this.#isOpen = false;
  }
}

function noteThroughput(record: EndpointRecord, tokens: number, firstAt: number, now: number): void {
  const seconds = (now - firstAt) / 1_000;
  if (tokens >= minTokens && seconds >= minSeconds) record.throughput.add(tokens / seconds, now);
}
