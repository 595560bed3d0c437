/** Worked examples of operations in Anthropic's format. */

export const messagesRequestExample = {
  model: "anthropic/claude-sonnet-4.5",
  max_tokens: 1_024,
  messages: [{ role: "user", content: "What is the capital of France?" }],
};

export const messageExample = {
  id: "msg_6f0b2d",
  type: "message",
  role: "assistant",
  model: "anthropic/claude-sonnet-4.5",
  content: [{ type: "text", text: "Paris.", citations: null }],
  stop_reason: "end_turn",
  stop_sequence: null,
  usage: { input_tokens: 14, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 },
};

export const messageEventExample = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "Par" },
};

export const countTokensRequestExample = {
  model: "anthropic/claude-sonnet-4.5",
  messages: [{ role: "user", content: "What is the capital of France?" }],
};

export const tokenCountExample = { input_tokens: 14, estimated: true };
