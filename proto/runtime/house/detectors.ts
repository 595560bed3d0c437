/** `detectors`: services beside the house that find things in texts. Guardrails name them; without an entry there is none. */
import { z } from "zod";

const name = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][\w.-]*$/, "letters, digits and . _ -");

export const detector = z.strictObject({
  id: name.describe("Name by which guardrails refer to it."),
  dialect: z
    .enum(["presidio", "tei"])
    .describe(
      "What it speaks: POST /analyze of Microsoft Presidio's analyzer, which finds places in a text; or POST /predict of Hugging Face's text-embeddings-inference, which classifies a text.",
    ),
  base_url: z.url({ protocol: /^https?$/ }).describe("Without /analyze or /predict. Texts go nowhere else."),
  api_key: z.string().min(1).optional().describe("Sent as a bearer token."),
  categories: z
    .record(name, z.array(z.string().min(1).max(100)).min(1).max(100))
    .refine((given) => Object.keys(given).length > 0, "at least one category")
    .describe("What guardrails can ask for, each with the entities or labels of the service that mean it."),
  language: z.string().min(2).max(20).default("en").describe("Told to presidio: the language of its model."),
  threshold: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.5)
    .describe("The score from which on something counts as found, where a rule says nothing."),
  window_chars: z
    .int()
    .min(400)
    .max(100_000)
    .optional()
    .describe(
      "What is asked at a time, in UTF-16 units; longer texts are asked in windows that overlap. 8000 of presidio, 1200 of tei, whose models read 512 tokens.",
    ),
  timeout_ms: z.int().min(1).max(60_000).default(2_000).describe("Time limit of one call."),
  total_ms: z.int().min(1).max(120_000).default(5_000).describe("Time limit of a question, repeats included."),
  retries: z.int().min(0).max(3).default(1).describe("Calls after one that got no answer."),
  max_concurrency: z.int().min(1).max(1_000).default(16).describe("Calls of one process at a time; others wait."),
  cache_ttl_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe("How long what it found in a text is kept in memory, without the text; 0: not at all."),
});

/** What a process needs to know that asks none of them. */
export const namedDetector = z.object({ id: z.string(), categories: z.record(z.string(), z.unknown()) });

export type NamedDetector = z.infer<typeof namedDetector>;
export type DetectorSettings = z.infer<typeof detector>;
