/** `models`: the models offered to clients, and the endpoints that serve them. */
import { z } from "zod";
import { dialectParameters } from "./provider.ts";
import { modality, outputModality, price, slug } from "./scalars.ts";

/** Prices in USD per million tokens. */
const rates = {
  prompt: price,
  completion: price,
  cache_read: price.optional().describe("The prompt price when absent."),
  cache_write: price.optional().describe("The prompt price when absent."),
  cache_write_1h: price
    .optional()
    .describe("Price of cache entries kept for an hour; the cache_write price when absent."),
};

const endpoint = z.strictObject({
  provider: slug,
  upstream_model: z
    .string()
    .min(1)
    .optional()
    .describe("Name of the model at the provider; when absent, the name in the catalogue, else the model's id."),
  tier: z.enum(["default", "priority", "flex", "scale", "ultrafast"]).default("default"),
  pricing: z
    .strictObject({
      ...rates,
      above: z
        .array(z.strictObject({ input_tokens: z.int().min(1), ...rates }))
        .optional()
        .describe(
          "Prices of requests with more input than input_tokens; the highest exceeded bound applies to the whole request.",
        ),
      request: price.optional().describe("USD per request; free when absent."),
      image: price.optional().describe("USD per image of a request; free when absent."),
      image_output: price.optional().describe("USD per image of an answer; free when absent."),
      page: price
        .optional()
        .describe("USD per page that a provider of dialect mistral-ocr reads of a file; free when absent."),
      audio: price.optional().describe("USD per unit of audio; free when absent."),
      web_search: price.optional().describe("USD per search of the provider; free when absent."),
    })
    .optional()
    .describe("Endpoints with a price share the load by price; endpoints without one follow in the order of the file."),
  weight: z
    .number()
    .min(0)
    .max(1_000_000)
    .optional()
    .describe(
      "Share of the load, against the weights of the model's other endpoints, instead of by price: 5 beside 95 is a canary of 5 %. With 0, and without a weight where others have one, an endpoint only serves when they fail.",
    ),
  priority: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe(
      "Group of endpoints, tried from 1 on: the load is shared within the first group, and the next one serves what the group cannot, such as what is above provisioned throughput.",
    ),
  quantization: z.string().default("unknown"),
  distillable: z.boolean().default(false).describe("Whether the author allows training of other models on the output."),
  supported_parameters: z
    .array(z.string())
    .optional()
    .describe(
      `Parameters that the endpoint supports; others are not sent, and listed in the receipt. Beyond the names of the request, further ones may be named: ${dialectParameters}.`,
    ),
});

export const model = z.strictObject({
  id: slug,
  name: z.string().min(1).optional(),
  description: z.string().optional(),
  released: z.iso.date().optional(),
  tokenizer: z.string().min(1).default("Other").describe("Family of the tokenizer, such as GPT, Claude or Llama3."),
  context_length: z.int().min(1).default(128_000),
  max_output_tokens: z.int().min(1).optional(),
  input_modalities: z.array(modality).default(["text"]),
  output_modalities: z
    .array(outputModality)
    .refine((all) => all.length === 1 || !all.includes("embeddings"), "embeddings stands alone")
    .default(["text"])
    .describe("`[embeddings]` makes it a model for POST /embeddings, which answers no other request."),
  endpoints: z.array(endpoint).min(1).describe("Endpoints, tried in this order when none has a price."),
  scores: z
    .record(z.string(), z.number())
    .optional()
    .describe(
      "Benchmark scores, higher is better, on one scale for all models; the built-in catalogue's go from 0 to 1, and are replaced as a whole. service/pareto-code uses `coding`; service/auto uses `coding`, `agentic`, `math`, `knowledge`, `writing`, `vision` and `general`; service/jev-router uses `coding`, `math` and `general`.",
    ),
});
