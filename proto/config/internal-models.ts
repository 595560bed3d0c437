/** `internal_models`: models for Sluice's own calls, one for each role. A role without an entry has no model. */
import { z } from "zod";
import { slug } from "./scalars.ts";

/**
 * Calibration of a judge's probability p by Platt scaling, fitted to human verdicts: p' = sigmoid(a * logit(p) + b).
 */
const calibration = z
  .strictObject({
    a: z.number().default(1),
    b: z.number().default(0),
    version: z.string().min(1).max(100).default("none").describe("Version shown in the receipt with every verdict."),
  })
  .prefault({})
  .describe("Corrects the probabilities of this model.");

const judge = z.strictObject({
  model: slug.describe("A model of this file."),
  logprobs: z
    .boolean()
    .default(false)
    .describe(
      "Whether the probability comes from the log probabilities of the answer's first token; otherwise the model states it.",
    ),
  structured: z
    .enum(["json_schema", "json_object", "prompt"])
    .default("json_schema")
    .describe("How the form of the answer is enforced when the model states the probability."),
  timeout_ms: z.int().min(1).max(60_000).default(4_000).describe("Time limit of one call."),
  total_ms: z.int().min(1).max(120_000).default(8_000).describe("Time limit of a question, including retries."),
  retries: z.int().min(0).max(3).default(1).describe("Retries after a failed call or an unreadable answer."),
  max_concurrency: z
    .int()
    .min(1)
    .max(1_000)
    .default(16)
    .describe("Maximum number of concurrent calls of one process; further calls wait."),
  max_calls_per_request: z
    .int()
    .min(0)
    .max(100_000)
    .default(32)
    .describe(
      "Calls of one request that the operator pays for. Further calls are charged to the key; when they exceed its budget, the request ends with 402.",
    ),
  cache_ttl_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe("Time to cache the answer to the same question in memory; 0 turns the cache off."),
  calibration,
});

const judging = judge.omit({ model: true }).shape;

/** Rules that the judge applies by default, each judged separately. */
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
    model: slug.optional().describe("A model of this file that judges each category separately."),
    provider: slug
      .optional()
      .describe(
        "Instead of model: a provider of this file with POST /moderations, as OpenAI has. Its first key is used.",
      ),
    upstream_model: slug.default("omni-moderation-latest").describe("Name of the moderation model at the provider."),
    images: z
      .boolean()
      .optional()
      .describe("For provider: whether it looks at images, too; when absent, only omni-moderation models do."),
    categories: z
      .record(category, z.string().min(1).max(500))
      .refine((given) => Object.keys(given).length > 0, "at least one category")
      .default(commonRules)
      .describe("For model: the categories, each as a rule that a text must keep."),
    thresholds: z
      .record(category, z.number().min(0.01).max(1))
      .default({})
      .describe(
        "Minimum probability of a flagged text, by category: for model 0.5 when absent; for provider in addition to its own flags.",
      ),
    fail: z
      .enum(["closed", "open"])
      .default("closed")
      .describe("Requests that could not be checked are refused with 503 (closed), or admitted and recorded (open)."),
    ...judging,
  })
  .refine(({ model, provider }) => (model === undefined) !== (provider === undefined), "give either model or provider");

/** Settings of a model that chooses the model of a request. @param limits in milliseconds */
const chooser = (limits: { readonly timeout: number; readonly total: number }) =>
  judge.omit({ logprobs: true, calibration: true }).extend({
    timeout_ms: judge.shape.timeout_ms.unwrap().default(limits.timeout).describe("Time limit of one call."),
    total_ms: judge.shape.total_ms
      .unwrap()
      .default(limits.total)
      .describe("Time limit of a question, including retries."),
    retries: judge.shape.retries.unwrap().default(0).describe("Retries after a failed call or an unreadable answer."),
  });

const ocr = z.strictObject({
  model: slug.describe(
    "A model of this file that takes files; it is sent the PDF itself. One of a provider of dialect mistral-ocr reads page by page.",
  ),
  timeout_ms: z.int().min(1).max(600_000).default(120_000).describe("Time limit of one call."),
  total_ms: z.int().min(1).max(600_000).default(180_000).describe("Time limit of a PDF, including retries."),
  retries: judge.shape.retries,
  max_concurrency: z
    .int()
    .min(1)
    .max(1_000)
    .default(4)
    .describe("Maximum number of concurrent calls of one process; further calls wait."),
  max_calls_per_request: z
    .int()
    .min(0)
    .max(100_000)
    .default(0)
    .describe("Calls of one request that the operator pays for. Further calls are charged to the key."),
  max_output_tokens: z
    .int()
    .min(16)
    .max(1_000_000)
    .default(16_000)
    .describe("Maximum length of the text of one PDF; a longer one is cut, and the receipt says so."),
  max_pages: z
    .int()
    .min(1)
    .max(1_000)
    .default(1_000)
    .describe(
      "Maximum number of pages that a model paid by the page reads of one PDF; the others are left out, and the receipt says so.",
    ),
});

export const internalModels = z.strictObject({
  guard_judge: judge.optional().describe("Decides whether a text breaks a rule of a guardrail."),
  alignment_judge: judge.optional().describe("Decides whether an answer breaks a rule of the alignment plugin."),
  switchyard_judge: chooser({ timeout: 2_500, total: 3_000 })
    .optional()
    .describe(
      "Predicts whether the cheaper candidate of service/switchyard suffices; without this role, an estimate decides.",
    ),
  router_classifier: chooser({ timeout: 600, total: 600 })
    .optional()
    .describe(
      "Tells service/auto and service/auto-beta the task and the difficulty of requests of whose task the local guess is unsure. After the time limit the guess stands.",
    ),
  jev_decider: chooser({ timeout: 1_500, total: 1_500 })
    .optional()
    .describe(
      "Tells service/jev-router the task and the difficulty of requests in which the local estimate finds nothing to go by. After the time limit the estimate stands.",
    ),
  ocr: ocr.optional().describe("Reads scanned pages of PDFs for the plugin file-parser."),
  moderation: moderation.optional().describe("Checks user messages for the moderation plugin."),
  advisor: z
    .strictObject({ model: slug.describe("A model of this file.") })
    .optional()
    .describe("Default model of the tool service:advisor. The key pays for its calls."),
  compactor: z
    .strictObject({
      model: slug.describe("A model of this file."),
      max_output_tokens: z
        .int()
        .min(16)
        .max(1_000_000)
        .default(8_000)
        .describe("Maximum length of a summary; a longer one is cut."),
    })
    .optional()
    .describe(
      "Writes the summary when a client compacts a conversation; without this role, the model of the request does. The key pays for its calls.",
    ),
  image: z
    .strictObject({ model: slug.describe("A model of this file that gives images.") })
    .optional()
    .describe("Default model of the tool service:image_generation. The key pays for its calls."),
});

export type JudgeSettings = z.infer<typeof judge>;
export type OcrRole = z.infer<typeof ocr>;
export type ChooserSettings = z.infer<ReturnType<typeof chooser>>;
export type ModerationRole = z.infer<typeof moderation>;

/** Whether the moderation service also checks images. */
export const moderatesImages = ({ provider, images, upstream_model: name }: ModerationRole): boolean =>
  provider !== undefined && (images ?? name.startsWith("omni-moderation"));

/** Slug of a moderation model that is not among the file's `models`. */
export const serviceSlug = ({ provider, upstream_model }: ModerationRole): string => `${provider}/${upstream_model}`;
