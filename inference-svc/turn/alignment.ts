/** The alignment plugin's report on a turn, with the member names of the API. */

export interface RuleVerdict {
  readonly probability: number;
  /** The probability reaches the threshold. */
  readonly broken: boolean;
}

/** The reason why an answer has no verdict. */
export type Unevaluated = "cut" | "evaluator_error" | "malformed_answer" | "time_limit";

export type Evaluation =
  | { readonly outcome: "allowed" | "blocked"; readonly rules: readonly RuleVerdict[] }
  | { readonly outcome: "unavailable"; readonly reason: Unevaluated };

/** The evaluation of one model answer; `call` counts from 1. */
export type AlignedCall = { readonly call: number } & Evaluation;

export interface AlignmentReport {
  readonly calls: readonly AlignedCall[];
}
