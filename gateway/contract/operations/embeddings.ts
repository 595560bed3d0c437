/** The operation for embedding texts. */
import { embeddingsDryRunExample, embeddingsExample, embeddingsRequestExample } from "../examples/embeddings.ts";
import { dryRunReceipt } from "../request/dry-run.ts";
import { embeddingsRequest } from "@sluice/proto/contract/request/embeddings.js";
import { embeddings } from "../response/embeddings.ts";
import { errorStatuses } from "@sluice/proto/contract/operations/errors.js";
import { legacyMetadataHeader, metadataHeader, tagsParameter, timeoutHeader } from "./headers.ts";
import { example, json, operation } from "@sluice/proto/contract/operations/operation.js";

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
  headers: [metadataHeader, legacyMetadataHeader, tagsParameter, timeoutHeader],
  body: json(embeddingsRequest, example(embeddingsRequestExample)),
  answer: { description: "The vectors.", content: [json(embeddings, example(embeddingsExample))] },
  statuses: errorStatuses.filter((status) => status !== 409),
});

export const dryRunEmbeddings = operation({
  path: "/embeddings/dry-run",
  method: "post",
  tag: "Embeddings",
  key: "inference",
  summary: "Show how texts would be embedded",
  description:
    "Takes the body of `POST /embeddings`, with the same checks, limits and errors, and makes the same decisions, but calls no provider and costs " +
    "nothing. Answers with the receipt, also where a guardrail would refuse the request: then `blocked` is true, and `error` is what it would be refused with.",
  body: json(embeddingsRequest, example(embeddingsRequestExample)),
  answer: { description: "The receipt.", content: [json(dryRunReceipt, example(embeddingsDryRunExample))] },
  statuses: [400, 401, 403, 404, 408, 413, 429, 500, 503],
});
