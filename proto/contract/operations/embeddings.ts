/** The operation that embeds texts. */
import { embeddingsExample, embeddingsRequestExample } from "../examples/embeddings.ts";
import { embeddingsRequest } from "../request/embeddings.ts";
import { embeddings } from "../response/embeddings.ts";
import { errorStatuses } from "./errors.ts";
import { legacyMetadataHeader, metadataHeader, timeoutHeader } from "./headers.ts";
import { example, json, operation } from "./operation.ts";

export const createEmbeddings = operation({
  path: "/embeddings",
  method: "post",
  tag: "Embeddings",
  key: "inference",
  summary: "Embed texts",
  description:
    "Answers one vector for each input. Limits, budgets, guardrails and routing are those of `POST /responses`: a guardrail that blocks is " +
    "403, and what it redacts is embedded without the redacted text. A failing endpoint is replaced by another one of the same model, never " +
    "by another model, whose vectors could not be compared.\n\nA model whose `output_modalities` do not name `embeddings` is 400 here, and an embedding model is 400 for `POST /responses`.",
  headers: [metadataHeader, legacyMetadataHeader, timeoutHeader],
  body: json(embeddingsRequest, example(embeddingsRequestExample)),
  answer: { says: "The vectors.", content: [json(embeddings, example(embeddingsExample))] },
  statuses: errorStatuses.filter((status) => status !== 409),
});
