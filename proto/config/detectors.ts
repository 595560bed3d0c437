/**
 * `detectors`: external services that detect sensitive text. Guardrails refer to them by name. There are none by
 * default.
 */
import { z } from "zod";
import { webhookSecret } from "./sinks/common.ts";

const name = z
  .string()
  .max(100)
  .regex(/^[A-Za-z0-9][\w.-]*$/, "letters, digits and . _ -");

const kindsOfFindings = ["spans", "labels"] as const;
/** Units in which a webhook's answer may give positions in a text. */
const offsetUnits = ["code_points", "utf16", "bytes"] as const;

const settings = z.strictObject({
  id: name.describe("Name that guardrails use for the detector."),
  dialect: z
    .enum(["presidio", "tei", "webhook"])
    .describe(
      "Protocol: POST /analyze of Microsoft Presidio's analyzer, which finds spans in a text; POST /predict of Hugging Face's text-embeddings-inference, which classifies a text; or a signed message to a webhook of your own.",
    ),
  base_url: z
    .url({ protocol: /^https?$/ })
    .describe(
      "Base URL without /analyze or /predict; of a webhook the whole URL, with its query. Texts are sent nowhere else.",
    ),
  secret: webhookSecret
    .optional()
    .describe(
      "Signs the messages to a webhook, which needs it, as Standard Webhooks says: whsec_ and the base64 of 24 to 64 random bytes.",
    ),
  finds: z
    .enum(kindsOfFindings)
    .optional()
    .describe(
      "Findings of a webhook: spans have places in the text (the default), and labels apply to the whole text or sentence.",
    ),
  offsets: z.enum(offsetUnits).optional().describe("Unit of the places in a webhook's answer; code_points by default."),
  api_key: z.string().min(1).optional().describe("Sent as a bearer token."),
  categories: z
    .record(name, z.array(z.string().min(1).max(100)).min(1).max(100))
    .refine((given) => Object.keys(given).length > 0, "at least one category")
    .describe("Categories for guardrails, each with the service's entities or labels that belong to it."),
  language: z.string().min(2).max(20).default("en").describe("Language of presidio's model."),
  threshold: z
    .number()
    .min(0.01)
    .max(1)
    .default(0.5)
    .describe("Minimum score of a finding, unless a rule sets its own."),
  window_chars: z
    .int()
    .min(400)
    .max(100_000)
    .optional()
    .describe(
      "Maximum length of a request in UTF-16 units; longer texts are split into overlapping windows. Default 8000 for presidio and webhook, and 1200 for tei, whose models read 512 tokens.",
    ),
  timeout_ms: z.int().min(1).max(60_000).default(2_000).describe("Time limit of one call."),
  total_ms: z.int().min(1).max(120_000).default(5_000).describe("Time limit of a question, including retries."),
  retries: z.int().min(0).max(3).default(1).describe("Retries after a call without an answer."),
  max_concurrency: z
    .int()
    .min(1)
    .max(1_000)
    .default(16)
    .describe("Maximum number of concurrent calls of one process; further calls wait."),
  cache_ttl_s: z
    .int()
    .min(0)
    .max(86_400)
    .default(600)
    .describe("Time to cache the findings of a text, without the text, in memory; 0 turns the cache off."),
});

/** Settings allowed only for webhooks. */
const ofWebhooks = ["secret", "finds", "offsets"] as const;

export const detector = settings.superRefine((given, context) => {
  const isWebhook = given.dialect === "webhook";
  if (isWebhook && given.secret === undefined)
    context.addIssue({ code: "custom", message: "required for the dialect webhook", path: ["secret"] });
  for (const name of isWebhook ? [] : ofWebhooks)
    if (given[name] !== undefined)
      context.addIssue({ code: "custom", message: "only for the dialect webhook", path: [name] });
});

/** The part of a detector needed by the gateway: it validates guardrails and calls no detector. */
export const namedDetector = z.object({ id: z.string(), categories: z.record(z.string(), z.unknown()) });

export type NamedDetector = z.infer<typeof namedDetector>;
export type DetectorSettings = z.infer<typeof detector>;
