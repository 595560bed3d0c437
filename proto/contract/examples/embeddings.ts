/** Examples of embeddings. */

export const embeddingsRequestExample = {
  model: "openai/text-embedding-3-small",
  input: ["The house is blue.", "The sky is grey."],
  dimensions: 3,
};

export const embeddingsExample = {
  object: "list",
  data: [
    { object: "embedding", index: 0, embedding: [0.0123, -0.9871, 0.1596] },
    { object: "embedding", index: 1, embedding: [0.2408, -0.9611, 0.1355] },
  ],
  model: "openai/text-embedding-3-small",
  usage: { prompt_tokens: 10, total_tokens: 10, cost: 2e-7 },
};
