/** `providers`: who can serve. */
import { z } from "zod";
import { slug } from "./scalars.ts";

const dialects = ["echo", "chat", "gemini", "messages", "converse", "responses"] as const;
/** As npm allows names. */
const sdkPackage = /^ai-sdk:(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const notADialect = `must be one of ${dialects.join(", ")}, or ai-sdk:<package>`;

export const provider = z.strictObject({
  id: slug.describe("Name by which endpoints refer to the provider."),
  name: z.string().min(1).optional().describe("Shown in service_metadata; the vendor's, else the id, when absent."),
  dialect: z
    .union([z.enum(dialects), z.string().regex(sdkPackage, notADialect)], { error: notADialect })
    .describe("Wire format that the provider speaks; ai-sdk:<package> asks it through a package that is installed."),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Up to and including the version segment, e.g. https://api.openai.com/v1, or https://bedrock-runtime.us-east-1.amazonaws.com, which has none.",
    ),
  api_keys: z
    .array(z.string().min(1))
    .optional()
    .describe("Sent in rotation, as the format sends keys; omit for servers that need none."),
  vendor: z
    .string()
    .optional()
    .describe(
      "Under which the catalogue knows the provider, e.g. openai; the one whose host base_url names when absent.",
    ),
  known_models: z
    .boolean()
    .default(false)
    .describe("Whether it serves all models that the catalogue knows of its vendor, beside those that are listed."),
  aws: z
    .strictObject({
      region: z.string().min(1).describe("That of base_url: signatures name it."),
      access_key_id: z.string().min(1),
      secret_access_key: z.string().min(1),
      session_token: z
        .string()
        .min(1)
        .optional()
        .describe("Of temporary credentials; left out when its variable is not set."),
    })
    .optional()
    .describe("Credentials that requests of dialect converse are signed with, in the place of api_keys."),
  native_tools: z
    .array(z.string().min(1))
    .optional()
    .describe("Types of tools that the provider runs itself, beyond function tools; the format's own when absent."),
  region: z
    .string()
    .min(1)
    .default("global")
    .describe("Where it is, such as us, us-east-1, eu, europe: for guardrails that allow some regions only."),
  data_policy: z
    .strictObject({
      retention: z.enum(["none", "unknown"]).default("unknown").describe("none admits requests with provider.zdr."),
      training: z
        .boolean()
        .optional()
        .describe("false, together with retention none, admits requests with provider.data_collection deny."),
      publication: z
        .boolean()
        .optional()
        .describe("false admits requests whose guardrail forbids that what is sent for nothing is published."),
    })
    .optional(),
  headquarters: z.string().length(2).optional().describe("Country, in two letters; shown with the provider."),
  privacy_policy_url: z.url().optional(),
  terms_of_service_url: z.url().optional(),
  status_page_url: z.url().optional(),
  trace_context: z
    .boolean()
    .optional()
    .describe(
      "Whether calls carry the W3C Trace Context of their spans, for servers of one's own; nothing is told when absent.",
    ),
  timeouts: z
    .strictObject({
      connect_ms: z.int().min(1).max(60_000).default(2_000),
      headers_ms: z.int().min(1).max(3_600_000).default(300_000),
      first_event_ms: z.int().min(1).max(3_600_000).default(300_000),
      idle_ms: z.int().min(1).max(3_600_000).default(60_000),
    })
    .prefault({}),
});
