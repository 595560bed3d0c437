/** `models`: what can be asked for, and which endpoints serve it. */
import { z } from "zod";
import { modality, price, slug } from "./scalars.ts";

/** USD per million tokens. */
const rates = {
  prompt: price,
  completion: price,
  cache_read: price.optional().describe("As the prompt when absent."),
  cache_write: price.optional().describe("As the prompt when absent."),
  cache_write_1h: price.optional().describe("Of what is kept for an hour; as cache_write when absent."),
};

const endpoint = z.strictObject({
  provider: slug,
  upstream_model: z
    .string()
    .min(1)
    .optional()
    .describe("The provider's name of the model; the known one, else the model's id, when absent."),
  tier: z.enum(["default", "priority", "flex", "scale", "ultrafast"]).default("default"),
  pricing: z
    .strictObject({
      ...rates,
      above: z
        .array(z.strictObject({ input_tokens: z.int().min(1), ...rates }))
        .optional()
        .describe(
          "Prices of requests whose input has more than input_tokens: of the whole request, by the highest bound that it passes.",
        ),
      request: price.optional().describe("USD per request; nothing when absent."),
      image: price.optional().describe("USD per image of a request; nothing when absent."),
      image_output: price.optional().describe("USD per image of an answer; nothing when absent."),
      audio: price.optional().describe("USD per unit of audio; nothing when absent."),
      web_search: price.optional().describe("USD per search that the provider runs; nothing when absent."),
    })
    .optional()
    .describe("Endpoints with a price share the load by it; those without follow in the order of the file."),
  quantization: z.string().default("unknown"),
  distillable: z.boolean().default(false).describe("Whether the author allows training of other models on the output."),
  supported_parameters: z
    .array(z.string())
    .optional()
    .describe(
      "What the endpoint knows; settings that it lacks are not sent and declared in the receipt. Beyond the names of the request, chat endpoints may name reasoning.max_tokens, reasoning_content, reasoning_details.<format>, cache_control, prompt_cache_key, prompt_cache_options and verbosity, which most servers do not take; messages endpoints reasoning.max_tokens where the model takes a budget of thought instead of an effort, and thinking.disabled or thinking.between_tools where it can be told not to think; converse endpoints those of messages for Claude, structured_outputs where the model takes strict tools, and cache_control where one of another vendor than Anthropic and Amazon takes cache points; gemini endpoints thinking.minimal where the model knows that level of thought, reasoning.max_tokens where it takes a budget though it is not called gemini-2.5, and frequency_penalty, presence_penalty and top_logprobs, which most models refuse.",
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
  output_modalities: z.array(modality).default(["text"]),
  endpoints: z.array(endpoint).min(1).describe("Tried in this order where none has a price."),
  scores: z
    .record(z.string(), z.number())
    .optional()
    .describe(
      "What benchmarks say, the higher the better, on one scale for all models; `coding` is read by service/pareto-code; that, `agentic`, `math`, `knowledge`, `writing`, `vision` and `general` by service/auto; `coding`, `math` and `general` by service/jev-router.",
    ),
});
