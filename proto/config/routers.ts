/**
 * `fusion`: named panels of models that answer a request together. `auto_router`: how `service/auto` and
 * `service/auto-beta` rank models.
 */
import { z } from "zod";
import { slug } from "./scalars.ts";

const preset = z.strictObject({
  analysis_models: z.array(slug).min(1).max(8).describe("Models of this file that answer in parallel."),
  model: slug
    .optional()
    .describe("Model that compares the answers and writes the final one; the first of analysis_models when absent."),
});

export const fusion = z.strictObject({
  presets: z
    .strictObject({
      "general-high": preset.optional().describe("Also the default for requests that name neither preset nor models."),
      "general-budget": preset.optional(),
      "general-fast": preset.optional(),
    })
    .prefault({})
    .describe("Presets that requests can name."),
});

export const autoRouter = z.strictObject({
  learning_share: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe(
      "Share of the requests that name a model whose kind of task is guessed and recorded, so that the models that keys pay for rise for that task. 0 records nothing and ranks by scores alone.",
    ),
});

export type FusionPresets = z.infer<typeof fusion>["presets"];
export type PresetName = keyof FusionPresets;
