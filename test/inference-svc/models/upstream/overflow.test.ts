/** Errors of providers for a prompt that is too long, and the figures in them. */
import { describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { providerFault } from "@sluice/inference-svc/models/upstream/failure.js";

interface Lengths {
  readonly requested?: number;
  readonly maximum?: number;
}

const both = (requested: number, maximum: number): Lengths => ({ requested, maximum });

/**
 * Error messages of OpenAI, Azure, OpenRouter, vLLM, SGLang, llama.cpp, LM Studio, Ollama, text-generation-inference, Google, Mistral, Moonshot, xAI, Qwen,
 * Cohere, Anthropic and Bedrock.
 */
const said: readonly (readonly [string, Lengths])[] = [
  ["This model's maximum context length is 10 tokens. However, your messages resulted in 20 tokens.", both(20, 10)],
  [
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).",
    both(5_000, 4_096),
  ],
  [
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    both(300_000, 272_000),
  ],
  ["Your input exceeds the context window of this model. Please adjust your input and try again.", {}],
  [
    "This endpoint's maximum context length is 131,072 tokens. However, you requested about 140,000 tokens (139,000 of text input, 1,000 in the output).",
    both(140_000, 131_072),
  ],
  [
    "This model's maximum context length is 32768 tokens. However, your request has 40000 input tokens.",
    both(40_000, 32_768),
  ],
  ["The decoder prompt (length 40000) is longer than the maximum model length of 32768.", both(40_000, 32_768)],
  [
    "You passed 40001 input tokens and requested 100 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32668 tokens.",
    both(40_001, 32_668),
  ],
  ["The input (40000 tokens) is longer than the model's context length (32768 tokens).", both(40_000, 32_768)],
  [
    "Requested token count exceeds the model's maximum context length of 32768 tokens. You requested a total of 40000 tokens: 8000 tokens from the input messages and 32000 tokens for the completion.",
    both(40_000, 32_768),
  ],
  ["request (20 tokens) exceeds the available context size (10 tokens), try increasing it", both(20, 10)],
  ["the request exceeds the available context size. try increasing the context size or enable context shift", {}],
  [
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    both(5_000, 4_096),
  ],
  ["input length (40000 tokens) exceeds the maximum context length (32768)", both(40_000, 32_768)],
  ["Input length 8197 exceeds maximum allowed token size 8192", both(8_197, 8_192)],
  [
    "`inputs` must have less than 4096 tokens. Given: 5000; `inputs` tokens + `max_new_tokens` must be <= 4096",
    both(5_000, 4_096),
  ],
  [
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    both(1_200_000, 1_048_576),
  ],
  ["The input token count is 1200000 but model only supports up to 1048576.", both(1_200_000, 1_048_576)],
  [
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    both(40_000, 32_768),
  ],
  ["Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", both(9_000, 8_192)],
  ["This model's maximum prompt length is 131072 but the request contains 140000 tokens.", both(140_000, 131_072)],
  ["prompt token count of 140000 exceeds the limit of 128000", both(140_000, 128_000)],
  ["Range of input length should be [1, 30720]", { maximum: 30_720 }],
  [
    "too many tokens: total number of tokens in the prompt cannot exceed 4096 - received 5000. Try using a shorter prompt",
    both(5_000, 4_096),
  ],
  ["too many tokens: size limit exceeded by 5000 tokens. Try using shorter or fewer inputs.", {}],
  ["prompt is too long: 210000 tokens > 200000 maximum", both(210_000, 200_000)],
  ["Input is too long for requested model.", {}],
  ["Number of input tokens exceeds maximum length. Please update the input to try again.", {}],
  ["The model gpt-4-32768 (2024-06-20) has a context window of 8192 tokens; this prompt has 9000", both(9_000, 8_192)],
];

describe("a prompt that is too long", () => {
  test.each(said)('is recognized by its words "%s"', (message, lengths) => {
    const { reason, metadata } = providerFault({ status: 400, message });
    expect(reason).toBe(FaultReason.CONTEXT_LENGTH_EXCEEDED);
    expect(metadata?.["context_length"]).toEqual(lengths);
  });

  test("differs from other refusals with numbers of tokens", () => {
    for (const message of ["max_tokens: 5000 > 4096, which is the maximum", "temperature must be at most 2, not 3"])
      expect(providerFault({ status: 400, message })).toMatchObject({ reason: FaultReason.INVALID_REQUEST });
  });
});
