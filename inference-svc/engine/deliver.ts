/** Delivers an answer to the client of a turn, with one promise for all batches of the answer. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Trace } from "../turn/trace.ts";
import { type Answer, type Batch, type Outcome, type TurnEvent, isCommitPoint } from "../turn/turn.ts";
import { type EngineTurn, toWire } from "./wire.ts";

/** Callbacks that report the progress of a delivery to the engine. */
interface DeliveryHooks {
  /** Creates the service metadata for the end event. */
  readonly metadata: () => Uint8Array;
  /** Called at most once, before the first committing event. */
  readonly begun: () => void;
  /** Called once, before the turn receives the end event. */
  readonly answered: (outcome: Outcome) => void;
}

export class AnswerDelivery {
  readonly #answer: Answer;
  readonly #turn: EngineTurn;
  readonly #trace: Trace;
  readonly #hooks: DeliveryHooks;
  #resolve = () => {};
  #reject: (failure: unknown) => void = () => {};
  /** Outcome of the answer; undefined until it has ended. */
  outcome: Outcome | undefined;
  /** UTF-16 units of text and arguments delivered so far. */
  textUnits = 0;

  constructor(answer: Answer, turn: EngineTurn, trace: Trace, hooks: DeliveryHooks) {
    this.#answer = answer;
    this.#turn = turn;
    this.#trace = trace;
    this.#hooks = hooks;
  }

  /**
   * @returns undefined when the whole answer was available at once; otherwise a promise that settles when the answer
   * has ended or the client has left @throws the failure of the answer
   */
  run(): Promise<void> | undefined {
    if (this.#advance()) return undefined;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Delivers what is available. @returns false while waiting for batches or for room at the client */
  #advance(): boolean {
    for (;;) {
      const next = this.#answer.next(this.#goOn);
      if (next === "pending") return false;
      if (next === "end") return true;
      const room = this.#give(next);
      if (room) {
        room.then(this.#goOnAfterBatch, this.#reject);
        return false;
      }
      if (this.#isOver()) return true;
    }
  }

  readonly #goOn = (): void => {
    try {
      if (this.#advance()) this.#resolve();
    } catch (error) {
      this.#reject(error);
    }
  };

  readonly #goOnAfterBatch = (): void => {
    try {
      if (this.#isOver() || this.#advance()) this.#resolve();
    } catch (error) {
      this.#reject(error);
    }
  };

  #give(given: Batch): Promise<void> | undefined {
    try {
      const batch = withTotal(given, this.#trace);
      const last = batch.at(-1);
      if (this.#trace.firstMs === undefined && batch.some(isCommitPoint)) {
        this.#trace.markFirstEvent();
        this.#hooks.begun();
      }
      const wire = toWire(batch, this.#hooks.metadata);
      this.textUnits += wire.textUnits;
      if (last?.type !== "end") return this.#turn.take(wire, false);
      this.outcome = last.outcome;
      this.#hooks.answered(last.outcome);
      return this.#turn.take(wire, true);
    } catch (error) {
      this.#leave();
      throw error;
    }
  }

  /** Whether the client cancelled the turn. @throws the abort reason, if it is a fault */
  #isOver(): boolean {
    const { aborted, reason } = this.#turn.signal;
    if (!aborted) return false;
    this.#leave();
    if (reason instanceof Fault) throw reason;
    return true;
  }

  #leave(): void {
    // Errors from closing the answer are ignored: the turn ends with its own reason.
    this.#answer.close()?.catch(() => {});
  }
}

/** Replaces the usage of the last attempt with the total of all attempts in the end event. */
function withTotal(batch: Batch, trace: Trace): Batch {
  const last = batch.at(-1);
  const several = trace.bills.length > 1 || trace.parts.length > 0 || trace.toolCalls !== undefined;
  const usage = last?.type === "end" && several ? trace.usage : undefined;
  return last?.type === "end" && usage ? [...batch.slice(0, -1), endOf({ ...last.outcome, usage })] : batch;
}

const endOf = (outcome: Outcome): TurnEvent => ({ type: "end", outcome });
