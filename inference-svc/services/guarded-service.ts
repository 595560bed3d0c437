/** Calls a service within a circuit breaker, and explains failures in words for models. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import { Circuit } from "../turn/circuit.ts";

/** The outcome of a call to a service; a refused call counts as failed. */
export type ServiceOutcome = "answered" | "failed" | "cancelled";

/** Receives the outcome of a call. */
export type OnServiceEnd = (outcome: ServiceOutcome) => void;

/** Runs a call, and reports its outcome. */
export async function observeCall<Result>(
  ended: OnServiceEnd,
  signal: TurnSignal,
  call: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await call();
    ended("answered");
    return result;
  } catch (error) {
    ended(signal.aborted ? "cancelled" : "failed");
    throw error;
  }
}

export interface GuardedServiceDeps {
  /** Name of the service at the start of a sentence, such as "the sandbox". */
  readonly name: string;
  /** Log message for a failed call, and its fields. */
  readonly warning: string;
  readonly fields: Readonly<Record<string, string>>;
  /** Error class for a call without an answer; its message is for the model. */
  readonly Unavailable: new (
    message: string,
    options?: ErrorOptions,
  ) => Error;
  /** The message for a call the service refuses because of this very call. @returns undefined for every other error */
  readonly refusal: (error: unknown) => string | undefined;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class GuardedService {
  readonly #parts: GuardedServiceDeps;
  readonly #circuit: Circuit;

  constructor(parts: GuardedServiceDeps) {
    this.#parts = parts;
    this.#circuit = new Circuit(parts.now);
  }

  /** Checks the circuit before a call. @throws `Unavailable` while it is open */
  check(): void {
    if (this.#circuit.open) throw this.#unavailable();
  }

  /** Runs a call. @throws `Unavailable` without an answer; Fault when the turn is over, or when the call is forbidden */
  async run<Answer>(signal: TurnSignal, call: () => Promise<Answer>): Promise<Answer> {
    throwIfAborted(signal);
    try {
      const answer = await call();
      this.#circuit.succeeded();
      return answer;
    } catch (error) {
      throwIfAborted(signal);
      if (error instanceof Fault) throw error;
      const { log, fields, warning, refusal, Unavailable } = this.#parts;
      log.warn({ ...fields, err: error }, warning);
      const refused = refusal(error);
      if (refused !== undefined) throw new Unavailable(refused, { cause: error });
      this.#circuit.failed();
      throw this.#unavailable(error);
    }
  }

  #unavailable(cause?: unknown): Error {
    const { name, Unavailable } = this.#parts;
    return new Unavailable(`${name} does not answer`, { cause });
  }
}

/** Called when a web search, a page fetch or a search of stored files begins; returns a function to be called with the outcome. */
export type WebWatch = (kind: "search" | "fetch" | "file_search") => OnServiceEnd;
