/** `internal_models`: models that the house asks for its own purposes, one for each role. Without an entry a role has nobody. */
import { z } from "zod";
import { slug } from "./scalars.ts";

/** p' = sigmoid(a * logit(p) + b): Platt's scaling, fitted to verdicts that people have given. */
const calibration = z
  .strictObject({
    a: z.number().default(1),
    b: z.number().default(0),
    version: z.string().min(1).max(100).default("none").describe("Named in the receipt beside every verdict."),
  })
  .prefault({})
  .describe("Corrects the probabilities of this model.");

const judge = z.strictObject({
  model: slug.describe("A model of this file."),
  logprobs: z
    .boolean()
    .default(false)
    .describe("Whether the probability is read from those of the answer's first token; otherwise the model states it."),
  structured: z
    .enum(["json_schema", "json_object", "prompt"])
    .default("json_schema")
    .describe("How a model that states it is held to the form of its answer."),
  timeout_ms: z.int().min(1).max(60_000).default(4_000).describe("Time limit of one call."),
  total_ms: z.int().min(1).max(120_000).default(8_000).describe("Time limit of a question, repeats included."),
  retries: z.int().min(0).max(3).default(1).describe("Calls after one that failed or whose answer cannot be read."),
  max_concurrency: z.int().min(1).max(1_000).default(16).describe("Calls of one process at a time; others wait."),
  cache_ttl_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe("How long the answer to the same question is kept in memory; 0: not at all."),
  calibration,
});

export const internalModels = z.strictObject({
  guard_judge: judge.optional().describe("Decides whether a text breaks a rule of a guardrail."),
});

export type JudgeSettings = z.infer<typeof judge>;
