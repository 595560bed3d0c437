/** Settings of the plugin `alignment` in a request, with defaults. */
import type { AlignmentPlugin } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type ModeWord, modes } from "@sluice/proto/lib/policy/guardrail-words.js";

export interface Alignment {
  readonly rules: readonly string[];
  /** How answers are treated. In the mode `audit`, everything is delivered unchanged, and evaluated. */
  readonly mode: ModeWord;
  /** Whether the rules are added to the model's instructions. */
  readonly instruct: boolean;
  /** Maximum number of retries after a withheld answer. */
  readonly maxRetries: number;
  /** Minimum probability at which a rule counts as broken. */
  readonly threshold: number;
}

export const alignmentOf = ({ rules, mode, instruct, maxRetries, threshold }: AlignmentPlugin): Alignment => ({
  rules,
  mode: (modes.find(mode) ?? modes.of("enforce")).word,
  instruct: instruct ?? true,
  maxRetries: maxRetries ?? 1,
  threshold: threshold ?? 0.7,
});
