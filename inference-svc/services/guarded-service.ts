/** Calls a service within a circuit breaker, and explains failures to models in words. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnSignal } from "../turn/signal.ts";
import { Circuit } from "../turn/circuit.ts";

/** The outcome of a call to a service; refused calls count as failed. */
export type ServiceOutcome = "answered" | "failed" | "cancelled";

/** Receives the outcome of a call. */
export type OnServiceEnd = (outcome: ServiceOutcome) => void;

/** Runs a call with an observed outcome. */
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
  /** The service's name at the start of a sentence, such as "the sandbox". */
  readonly name: string;
  /** Log message of a failed call, and its fields. */
  readonly warning: string;
  readonly fields: Readonly<Record<string, string>>;
  /** The error for a call without an answer; its message is for the model. */
  readonly Unavailable: new (
    message: string,
    options?: ErrorOptions,
  ) => Error;
  /** The message for a call refused by the service for reasons specific to this call; undefined for every other error. */
  readonly refusal: (error: unknown) => string | undefined;
  /** Milliseconds. */
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

  /** @throws the error for no answer, while the circuit is open */
  check(): void {
    if (this.#circuit.open) throw this.#unavailable();
  }

  /** @throws the error for no answer; Fault when the turn is over, or when the call is forbidden */
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

/** Called when a search, a fetch or a search of stored files begins; the returned function is called with its outcome. */
export type WebWatch = (kind: "search" | "fetch" | "file_search") => OnServiceEnd;
