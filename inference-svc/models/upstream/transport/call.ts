/** The interface of a call to a provider: what an HTTP exchange needs for its whole run, and the methods by which it reports the outcome. */
import type { Account } from "@sluice/proto/lib/load/held-bytes.js";
import type { TurnSignal } from "../../../turn/signal.ts";
import type { AttemptDeadline } from "../../../turn/scope.ts";
import type { Usage } from "../../../turn/usage.ts";
import type { ExpectedAnswer } from "../events/answer.ts";
import type { Timeouts } from "./deadline.ts";

export interface Call extends ExpectedAnswer {
  readonly timeouts: Timeouts;
  readonly attemptDeadline: AttemptDeadline;
  /** Hash of the API key, for whose share of processor time the answer is read. */
  readonly keyHash: string;
  /** Memory account of the answer. */
  readonly held: Account;
  readonly signal: TurnSignal;
  /** Called with the usage of an interrupted answer, if the provider has sent any. */
  reported(usage: Usage): void;
  /** Called when the turn abandons an answer on which the provider may still be working, and for which it will charge. */
  abandoned(): void;
}
