/** `alignment`: what the operator decides about the plugin of that name. */
import { z } from "zod";

export const alignment = z.strictObject({
  local_rules: z
    .boolean()
    .default(true)
    .describe("Whether rules of certain forms are decided by the house itself, exactly and without asking a model."),
  max_judged_rules: z
    .int()
    .min(0)
    .max(128)
    .default(128)
    .describe("Rules of one request that a model may be asked about: each is a call of its own, for every answer."),
});

export type AlignmentSettings = z.infer<typeof alignment>;
