/** The plugin's settings in a request, with their defaults. */
import type { AlignmentPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

export interface Alignment {
  readonly rules: readonly string[];
  /** audit: everything is delivered unchanged, and evaluated. */
  readonly mode: "enforce" | "audit";
  /** Whether the rules are added to the model's instructions. */
  readonly instruct: boolean;
  /** Maximum number of retries after a withheld answer. */
  readonly maxRetries: number;
  /** Minimum probability of a broken rule. */
  readonly threshold: number;
}

export const alignmentOf = ({ rules, mode, instruct, maxRetries, threshold }: AlignmentPlugin): Alignment => ({
  rules,
  mode: mode === "audit" ? "audit" : "enforce",
  instruct: instruct ?? true,
  maxRetries: maxRetries ?? 1,
  threshold: threshold ?? 0.7,
});
