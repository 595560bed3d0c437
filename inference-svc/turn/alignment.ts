/** The alignment plugin's report on a turn, with the member names of the API. */

export interface RuleVerdict {
  readonly probability: number;
  /** Whether the probability reaches the threshold. */
  readonly broken: boolean;
}

/** Why an answer has no verdict. */
export type Unevaluated = "cut" | "evaluator_error" | "malformed_answer" | "time_limit";

export type Evaluation =
  | { readonly outcome: "allowed" | "blocked"; readonly rules: readonly RuleVerdict[] }
  | { readonly outcome: "unavailable"; readonly reason: Unevaluated };

/** The evaluation of one answer of the model. `call` is its number in the turn, from 1. */
export type AlignedCall = { readonly call: number } & Evaluation;

export interface AlignmentReport {
  readonly calls: readonly AlignedCall[];
}
