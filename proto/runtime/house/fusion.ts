/** `fusion`: panels of models that a request may name by one word. */
import { z } from "zod";
import { slug } from "./scalars.ts";

const preset = z.strictObject({
  analysis_models: z.array(slug).min(1).max(8).describe("Models of this file that answer beside each other."),
  model: slug
    .optional()
    .describe("Compares the answers, and answers after them; the first of analysis_models when absent."),
});

export const fusion = z.strictObject({
  presets: z
    .strictObject({
      "general-high": preset.optional().describe("Also for requests that name no preset and no models."),
      "general-budget": preset.optional(),
      "general-fast": preset.optional(),
    })
    .prefault({})
    .describe("Without an entry a preset cannot be asked for."),
});

export type FusionPresets = z.infer<typeof fusion>["presets"];
export type PresetName = keyof FusionPresets;
