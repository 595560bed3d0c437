/** Worked examples of embeddings. */
import { dryRunExample } from "@sluice/proto/contract/examples/administration.js";

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

const model = embeddingsRequestExample.model;
const provider = "OpenAI";
const estimate = {
  input_tokens: 10,
  max_output_tokens: 0,
  input_cost: 2e-7,
  max_output_cost: 0,
  max_cost: 2e-7,
  held: 9e-7,
};

export const embeddingsDryRunExample = {
  ...dryRunExample,
  object: "embeddings.dry_run",
  candidates: [{ model, provider, service_tier: "default", quantization: "unknown", not_sent: [], estimate }],
  service_metadata: {
    ...dryRunExample.service_metadata,
    endpoints: { available: [{ model, provider, selected: false }], total: 1 },
    requested: model,
  },
};
