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
  max_calls_per_request: z
    .int()
    .min(0)
    .max(100_000)
    .default(32)
    .describe(
      "Calls that the operator pays for one request. Further ones are charged to the key, and fit into its budget or end the request with 402.",
    ),
  cache_ttl_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe("How long the answer to the same question is kept in memory; 0: not at all."),
  calibration,
});

const judging = judge.omit({ model: true }).shape;

/** What the judge holds against a text, each asked by itself, where the operator names none. */
const commonRules: Readonly<Record<string, string>> = {
  hate: "Never demeans or threatens people for what they are, such as their origin, religion, sex, sexuality or disability.",
  harassment: "Never insults, threatens or stalks a person, and never asks for help with that.",
  self_harm:
    "Never praises self-harm or suicide, and never asks how to do it. Who tells of distress or asks for support keeps this rule.",
  sexual: "Never asks for sexually explicit content, and contains none.",
  sexual_minors: "Never shows or asks for minors in a sexual way, fiction included.",
  violence: "Never calls for violence, and never asks for help with hurting people or animals.",
  illicit:
    "Never asks for help with weapons of mass killing, the making of drugs, theft, fraud, or breaking into computers of others.",
};

const category = z.string().min(1).max(100);

const moderation = z
  .strictObject({
    model: slug.optional().describe("A model of this file that is asked about each category by itself."),
    provider: slug
      .optional()
      .describe(
        "In the place of model: a provider of this file that has POST /moderations, as OpenAI does. Its first key is sent.",
      ),
    upstream_model: slug.default("omni-moderation-latest").describe("The provider's name of its moderation model."),
    categories: z
      .record(category, z.string().min(1).max(500))
      .refine((given) => Object.keys(given).length > 0, "at least one category")
      .default(commonRules)
      .describe("Of model: what counts as flagged, each as a rule that a text must keep."),
    thresholds: z
      .record(category, z.number().min(0.01).max(1))
      .default({})
      .describe(
        "By category, the probability from which on a text is flagged: of model 0.5 when absent; of provider beside what it flags itself.",
      ),
    fail: z
      .enum(["closed", "open"])
      .default("closed")
      .describe("What becomes of requests that could not be looked at: refused with 503, or let through, on record."),
    ...judging,
  })
  .refine(({ model, provider }) => (model === undefined) !== (provider === undefined), "give either model or provider");

/** One that is asked which model shall be asked. @param limits in milliseconds */
const chooser = (limits: { readonly timeout: number; readonly total: number }) =>
  judge.omit({ logprobs: true, calibration: true }).extend({
    timeout_ms: judge.shape.timeout_ms.unwrap().default(limits.timeout).describe("Time limit of one call."),
    total_ms: judge.shape.total_ms
      .unwrap()
      .default(limits.total)
      .describe("Time limit of a question, repeats included."),
    retries: judge.shape.retries
      .unwrap()
      .default(0)
      .describe("Calls after one that failed or whose answer cannot be read."),
  });

export const internalModels = z.strictObject({
  guard_judge: judge.optional().describe("Decides whether a text breaks a rule of a guardrail."),
  alignment_judge: judge.optional().describe("Decides whether an answer breaks a rule of the alignment plugin."),
  switchyard_judge: chooser({ timeout: 2_500, total: 3_000 })
    .optional()
    .describe("Forecasts whether the cheaper candidate of service/switchyard will do; without it that is estimated."),
  moderation: moderation.optional().describe("Looks at what users say where the plugin moderation asks for it."),
});

export type JudgeSettings = z.infer<typeof judge>;
export type ChooserSettings = z.infer<ReturnType<typeof chooser>>;
export type ModerationRole = z.infer<typeof moderation>;

/** What a moderation model is called that is no model of the file. */
export const serviceSlug = ({ provider, upstream_model }: ModerationRole): string => `${provider}/${upstream_model}`;
