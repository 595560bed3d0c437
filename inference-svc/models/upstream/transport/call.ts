/** Interface of a call to a provider: the data for the whole run of an exchange over HTTP, and the methods for reporting the outcome. */
import type { Account } from "@sluice/proto/lib/load/held-bytes.js";
import type { TurnSignal } from "../../../turn/signal.ts";
import type { AttemptDeadline } from "../../../turn/scope.ts";
import type { Usage } from "../../../turn/usage.ts";
import type { ExpectedAnswer } from "../events/answer.ts";
import type { Timeouts } from "./deadline.ts";

export interface Call extends ExpectedAnswer {
  readonly timeouts: Timeouts;
  readonly attemptDeadline: AttemptDeadline;
  /** The API key whose share of CPU time is used to read the answer. */
  readonly keyHash: string;
  /** Counts the memory of the answer. */
  readonly held: Account;
  readonly signal: TurnSignal;
  /** Called with the usage of an interrupted answer, if the provider sent any. */
  reported(usage: Usage): void;
  /** Called when the turn abandons an answer whose provider may still be working on it and will charge for it. */
  abandoned(): void;
}
