/** `alignment`: settings of the alignment plugin. */
import { z } from "zod";

export const alignment = z.strictObject({
  local_rules: z
    .boolean()
    .default(true)
    .describe("Whether Sluice decides rules of certain forms itself, exactly and without a model."),
  max_judged_rules: z
    .int()
    .min(0)
    .max(128)
    .default(128)
    .describe(
      "Maximum number of rules of one request that a model judges: each rule is a separate call for every answer.",
    ),
});

export type AlignmentSettings = z.infer<typeof alignment>;
