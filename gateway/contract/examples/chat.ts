/** Worked examples of chat completions. */
const common = { id: "chatcmpl-3kTMd", created: 1_790_000_000, model: "acme/large" } as const;

export const chatExamples = {
  text: {
    summary: "A question",
    value: {
      model: "acme/large",
      messages: [{ role: "user", content: "Name the largest moon of Saturn." }],
      max_completion_tokens: 64,
    },
  },
  stream: {
    summary: "The same as a stream, from the first model that can",
    value: {
      models: ["acme/large", "borealis/large"],
      messages: [
        { role: "system", content: "Answer in one line." },
        { role: "user", content: [{ type: "text", text: "Count to three." }] },
      ],
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  tool_result: {
    summary: "The result of a tool, with the conversation so far",
    value: {
      model: "acme/large",
      messages: [
        { role: "user", content: "What is the weather in Bern?" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } }],
        },
        { role: "tool", tool_call_id: "call_1", content: '{"celsius":12}' },
      ],
      tools: [
        {
          type: "function",
          function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
        },
      ],
    },
  },
} as const;

export const completionExample = {
  ...common,
  object: "chat.completion",
  system_fingerprint: null,
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "Titan.", refusal: null },
      logprobs: null,
      finish_reason: "stop",
    },
  ],
  service_tier: "default",
  usage: {
    prompt_tokens: 14,
    completion_tokens: 3,
    total_tokens: 17,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
    is_byok: false,
  },
} as const;

export const chunkExample = {
  ...common,
  object: "chat.completion.chunk",
  choices: [{ index: 0, delta: { content: "One, " }, finish_reason: null }],
} as const;
