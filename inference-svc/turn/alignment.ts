/** What the alignment plugin says of a turn, member by member as clients are shown it. */

export interface RuleVerdict {
  readonly probability: number;
  /** It reaches the threshold. */
  readonly broken: boolean;
}

/** Why there is no verdict. */
export type Unevaluated = "cut" | "evaluator_error" | "malformed_answer" | "time_limit";

export type Evaluation =
  | { readonly outcome: "allowed" | "blocked"; readonly rules: readonly RuleVerdict[] }
  | { readonly outcome: "unavailable"; readonly reason: Unevaluated };

/** The evaluated answer to one call, counted from 1. */
export type AlignedCall = { readonly call: number } & Evaluation;

export interface AlignmentReport {
  readonly calls: readonly AlignedCall[];
}
