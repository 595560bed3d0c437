/** `providers`: the model providers. */
import { z } from "zod";
import { type Cloud, awsSettings, azureSettings, googleSettings } from "./clouds.ts";
import { slug } from "./scalars.ts";

interface DialectTraits {
  /** Whether clients must mark the parts of a prompt to be cached; otherwise the provider caches automatically. */
  readonly cacheMarks?: true;
  /** Clouds that offer this wire format. */
  readonly clouds?: readonly Cloud[];
  /**
   * Further names allowed in `supported_parameters` of an endpoint, as documentation text with the condition for each.
   */
  readonly parameters?: string;
}

const traits = {
  echo: {},
  chat: {
    clouds: ["google", "azure"],
    parameters:
      "reasoning.max_tokens, reasoning_content, reasoning_details.<format>, cache_control, prompt_cache_key, prompt_cache_options, verbosity and prediction, which most servers do not take; message.reasoning and message.thinking where earlier thoughts go back in the field `reasoning` or as parts of the content; and thinking.disabled where `thinking` turns reasoning off",
  },
  gemini: {
    clouds: ["google"],
    parameters:
      "thinking.minimal where the model knows that level of thought, reasoning.max_tokens where it takes a budget though it is not called gemini-2.5, with reasoning.effort where it takes a level, too, and frequency_penalty, presence_penalty and top_logprobs, which most models refuse",
  },
  messages: {
    cacheMarks: true,
    clouds: ["google", "azure"],
    parameters:
      "reasoning.max_tokens where the model takes a budget of thought instead of an effort, with reasoning.effort where it takes either, and thinking.disabled or thinking.between_tools where it can be told not to think, and thinking.updates where it can show its notes between calls without its thoughts; message.system where it takes messages of the system amid the conversation; anthropic_betas and context_management where another server than Anthropic's takes them",
  },
  converse: {
    cacheMarks: true,
    clouds: ["aws"],
    parameters:
      "those of messages for Claude, structured_outputs where the model takes strict tools, and cache_control where one of another vendor than Anthropic and Amazon takes cache points",
  },
  cohere: {
    parameters: "reasoning_content where the model takes its earlier thoughts back",
  },
  responses: { clouds: ["azure"] },
  "mistral-ocr": {},
} satisfies Readonly<Record<string, DialectTraits>>;

const dialects = Object.keys(traits) as (keyof typeof traits)[];

/** Dialects of providers in the database: the built-in echo and packages of the AI SDK, which are code, need access to the machine. */
export const storableDialects = dialects.filter((dialect) => dialect !== "echo");

/** Traits of a provider's wire format; absent for packages of the AI SDK. */
export const dialectTraits = (dialect: string): DialectTraits =>
  (traits as Readonly<Record<string, DialectTraits>>)[dialect] ?? {};

/** Names allowed in `supported_parameters` for endpoints of any format, in addition to those of the request. */
const commonParameters =
  "all endpoints structured_outputs where an answer can be made to follow a JSON schema, response_format where it can be any JSON object (the schema is then an instruction), reasoning.effort.<level> for each effort that the model knows (others are sent as the nearest one), samplers.without_reasoning where temperature, top_p and top_logprobs are taken only while the model does not reason, and reasoning.on_request where it reasons only when an effort is asked for";

/** Additional parameters for `supported_parameters` of endpoints, by the format of their provider. */
export const dialectParameters = [
  ...dialects.flatMap((dialect) => {
    const { parameters } = dialectTraits(dialect);
    return parameters === undefined ? [] : [`${dialect} endpoints ${parameters}`];
  }),
  commonParameters,
].join("; ");

const dialectsOn = (cloud: Cloud): string =>
  dialects.filter((dialect) => dialectTraits(dialect).clouds?.includes(cloud)).join(", ");
/** A package name as npm allows it. */
const sdkPackage = /^ai-sdk:(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const notADialect = `must be one of ${dialects.join(", ")}, or ai-sdk:<package>`;

export const provider = z.strictObject({
  id: slug.describe("Name that endpoints use for the provider."),
  name: z
    .string()
    .min(1)
    .optional()
    .describe("Name shown in service_metadata; when absent, the vendor's name, else the id."),
  dialect: z
    .union([z.enum(dialects), z.string().regex(sdkPackage, notADialect)], { error: notADialect })
    .describe("Wire format of the provider; ai-sdk:<package> uses an installed AI SDK package."),
  base_url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      "Base URL including the version segment, e.g. https://api.openai.com/v1; https://bedrock-runtime.us-east-1.amazonaws.com and https://api.cohere.com have none. The settings of a cloud stand for its address when absent.",
    ),
  api_keys: z
    .array(z.string().min(1))
    .optional()
    .describe("API keys, used in rotation; omit for servers that need none."),
  vendor: z
    .string()
    .optional()
    .describe(
      "Name of the provider in the catalogue, e.g. openai; when absent, the vendor with the host of base_url. With it alone, dialect and base_url are those of the vendor. A server of another host, such as a proxy, is sent what the named vendor takes.",
    ),
  known_models: z
    .boolean()
    .default(false)
    .describe("Whether the provider serves all models of its vendor in the catalogue, in addition to the listed ones."),
  aws: awsSettings
    .optional()
    .describe(`Credentials of AWS that sign requests of dialect ${dialectsOn("aws")}, instead of api_keys.`),
  google: googleSettings
    .optional()
    .describe(`Identity on Google Cloud, for Vertex AI in dialect ${dialectsOn("google")}, instead of api_keys.`),
  azure: azureSettings
    .optional()
    .describe(`Azure, in dialect ${dialectsOn("azure")}: by api_keys, without them by an identity of Entra ID.`),
  native_tools: z
    .array(z.string().min(1))
    .optional()
    .describe(
      "Types of tools that the provider runs itself, besides function tools; the default of the format when absent.",
    ),
  stream_options: z
    .boolean()
    .optional()
    .describe(
      "false for servers of dialect chat that answer 400 to stream_options; tokens of streams are then estimated unless the server counts them unasked.",
    ),
  extra_body: z
    .record(z.string(), z.json())
    .optional()
    .describe("Fields that are added to the body of every turn, in place of those of the same name."),
  passes: z
    .array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/))
    .max(64)
    .optional()
    .describe(
      "Fields of a client's body that are added to the body of a turn as the client wrote them, such as min_p, chat_template_kwargs or num_ctx: parameters that the format does not have, and fields that Sluice does not have. Fields that Sluice writes itself stay as they are.",
    ),
  region: z
    .string()
    .min(1)
    .default("global")
    .describe("Location, such as us, us-east-1, eu, europe, for guardrails that allow only some regions."),
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
        .describe("false admits requests whose guardrail forbids free models that publish their input."),
    })
    .optional(),
  headquarters: z.string().length(2).optional().describe("Country, in two letters; shown with the provider."),
  privacy_policy_url: z.url().optional(),
  terms_of_service_url: z.url().optional(),
  status_page_url: z.url().optional(),
  trace_context: z
    .boolean()
    .optional()
    .describe("Whether calls carry the W3C Trace Context, for servers of your own; not sent when absent."),
  timeouts: z
    .strictObject({
      connect_ms: z.int().min(1).max(60_000).default(2_000),
      headers_ms: z.int().min(1).max(3_600_000).default(300_000),
      first_event_ms: z.int().min(1).max(3_600_000).default(300_000),
      idle_ms: z.int().min(1).max(3_600_000).default(60_000),
    })
    .prefault({}),
});
